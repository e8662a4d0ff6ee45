"""Getting data: what servers and networks do to a download, and what archives may not do to a folder."""

import bz2
import functools
import gzip
import hashlib
import http.server
import io
import lzma
import tarfile
import threading

import pytest

from rsbench.errors import UserError
from rsbench.files import download
from rsbench.files.archive import Archive
from rsbench.files.download import get


class Server:
    """Serves one file; cuts connections, ignores ranges or fails on request, and remembers what it was asked."""

    def __init__(self, content):
        self.content, self.requests = content, []
        self.cut_after, self.cuts, self.ranges, self.status = None, 0, True, None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *args):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/birds.tgz"
        # It looks so often whether it is to stop, and every test waits for that.
        serve = functools.partial(self._server.serve_forever, poll_interval=0.01)
        threading.Thread(target=serve, daemon=True).start()

    def answer(self, handler):
        wanted = handler.headers.get("Range")
        self.requests.append(wanted)
        if self.status:
            handler.send_error(self.status)
            return
        start = (
            int(wanted.removeprefix("bytes=").rstrip("-"))
            if wanted and self.ranges
            else 0
        )
        if start >= len(self.content):
            handler.send_error(416)
            return
        body = self.content[start:]
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if self.cut_after is not None and self.cuts > 0:
            self.cuts -= 1
            body = body[: self.cut_after]
        handler.wfile.write(body)

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def pack(members, links=()):
    """A tgz with files by name, and links by name and target."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for name, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return out.getvalue()


CONTENT = pack(
    {
        "attributes.txt": b"1 a\n",
        "birds/images.txt": b"1 x\n",
        "birds/images/x": bytes(range(256)) * 2000,
    }
)


def archive(content=CONTENT):
    return Archive("birds", "", hashlib.md5(content).hexdigest(), ("attributes.txt",))


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    made = Server(CONTENT)
    yield made
    made.close()


def files(root):
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    )


def test_a_data_set_arrives_whole_and_only_once(server, tmp_path):
    assert get(archive(), tmp_path, server.url)
    assert files(tmp_path) == ["attributes.txt", "birds/images.txt", "birds/images/x"]
    assert (tmp_path / "birds" / "images" / "x").read_bytes() == bytes(
        range(256)
    ) * 2000
    assert not get(archive(), tmp_path, server.url) and len(server.requests) == 1


def test_a_broken_connection_is_taken_up_where_it_broke(server, tmp_path):
    server.cut_after, server.cuts = 500, 3
    assert get(archive(), tmp_path, server.url)
    assert server.requests == [None, "bytes=500-", "bytes=1000-", "bytes=1500-"]
    assert "birds/images/x" in files(tmp_path)


def test_a_later_command_goes_on_where_the_first_was_stopped(server, tmp_path):
    (tmp_path / "birds.tgz.part").write_bytes(CONTENT[:700])
    assert get(archive(), tmp_path, server.url) and server.requests == ["bytes=700-"]


def test_a_server_without_ranges_starts_over(server, tmp_path):
    server.ranges = False
    (tmp_path / "birds.tgz.part").write_bytes(CONTENT[:700])
    assert get(archive(), tmp_path, server.url) and "birds/images/x" in files(tmp_path)


def test_remains_of_another_file_are_thrown_away(server, tmp_path):
    (tmp_path / "birds.tgz.part").write_bytes(b"x" * 700)
    assert get(archive(), tmp_path, server.url) and server.requests == [
        "bytes=700-",
        None,
    ]
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "birds.tgz.part").write_bytes(b"x" * (len(CONTENT) + 5))
    assert get(archive(), tmp_path / "b", server.url)


def test_a_download_that_was_complete_is_only_unpacked(server, tmp_path):
    (tmp_path / "birds.tgz.part").write_bytes(CONTENT)
    assert get(archive(), tmp_path, server.url)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "birds.tgz").write_bytes(CONTENT)
    count = len(server.requests)
    assert get(archive(), tmp_path / "b", server.url) and len(server.requests) == count
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "birds.tgz").write_bytes(b"mine")
    with pytest.raises(UserError, match=r"birds.tgz is there, but its md5 is not"):
        get(archive(), tmp_path / "c", server.url)
    assert (tmp_path / "c" / "birds.tgz").read_bytes() == b"mine"


def test_the_wrong_file_is_refused_and_removed(server, tmp_path):
    wrong = Archive("birds", "", "0" * 32)
    with pytest.raises(
        UserError, match=f"md5 is {hashlib.md5(CONTENT).hexdigest()}, expected 0000"
    ):
        get(wrong, tmp_path, server.url)
    assert files(tmp_path) == []


def test_a_server_that_keeps_failing_is_named_and_nothing_is_lost(server, tmp_path):
    (tmp_path / "birds.tgz.part").write_bytes(CONTENT[:700])
    server.status = 503
    with pytest.raises(UserError, match="503.*700 bytes are kept: run this again"):
        get(archive(), tmp_path, server.url)
    server.status = 404
    with pytest.raises(UserError, match="404"):
        get(archive(), tmp_path, server.url)
    server.status = None
    assert get(archive(), tmp_path, server.url) and server.requests[-1] == "bytes=700-"


def test_addresses_that_cannot_be_used_are_named(tmp_path):
    with pytest.raises(UserError, match="starts with https://"):
        get(archive(), tmp_path, "file:///etc/passwd")


def test_no_space_is_said_before_the_download(server, tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr(download.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(UserError, match="GB are needed"):
        get(archive(), tmp_path, server.url)


EVIL = {
    "../evil": pack({"birds/x": b"1", "../evil": b"2"}),
    "birds/../../evil": pack({"birds/../../evil": b"2"}),
    "/tmp/evil": pack({"/tmp/evil": b"2"}),
    "is a link": pack({"birds/x": b"1"}, [("birds/link", "/etc")]),
}


@pytest.mark.parametrize("member", EVIL)
def test_archives_that_reach_outside_are_refused_whole(member, server, tmp_path):
    server.content = EVIL[member]
    with pytest.raises(UserError, match="archive refused"):
        get(archive(EVIL[member]), tmp_path / "root", server.url)
    assert files(tmp_path) == ["root/birds.tgz"]


def test_damaged_archives_are_named_and_leave_nothing_half_done(server, tmp_path):
    for content in (
        CONTENT[: len(CONTENT) // 2],
        b"no archive",
        pack({"other/x": b"1"}),
    ):
        server.content = content
        with pytest.raises(
            UserError, match="birds.tgz: (cannot unpack|no folder birds)"
        ):
            get(archive(content), tmp_path, server.url)
        assert files(tmp_path) == ["birds.tgz"]
        (tmp_path / "birds.tgz").unlink()


def test_unpacking_that_was_killed_is_done_again(server, tmp_path):
    left = tmp_path / ".birds.unpacking" / "birds"
    left.mkdir(parents=True)
    (left / "half").write_text("")
    assert get(archive(), tmp_path, server.url)
    assert files(tmp_path) == ["attributes.txt", "birds/images.txt", "birds/images/x"]


def cub_archive(make_cub):
    """A small CUB packed as the official archive is."""
    root = make_cub()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        tar.add(root.parent / "attributes.txt", "attributes.txt")
        tar.add(root, "CUB_200_2011")
    return out.getvalue()


def test_the_command_gets_cub_and_status_tells(
    rsbench, server, make_cub, tmp_path, monkeypatch
):
    before = rsbench("data", "status")
    assert (
        "cub      absent      data/CUB_200_2011" in before.stdout
        and "data get cub" in before.stdout
    )
    server.content = cub_archive(make_cub)
    wrong = rsbench("data", "get", "cub", "--url", server.url)
    assert (
        wrong.returncode == 1
        and "expected 97eceeb196236b17998738112f37df78" in wrong.stderr
    )
    assert (
        "Traceback" not in wrong.stderr
        and not (tmp_path / "data" / "CUB_200_2011").exists()
    )
    # The right md5 is the official file's, so a copy that is unpacked by hand stands for it here.
    with tarfile.open(fileobj=io.BytesIO(server.content)) as tar:
        tar.extractall(tmp_path / "data", filter="data")
    again = rsbench("data", "get", "cub", "--url", server.url)
    assert (
        again.returncode == 0
        and "there already, 36 of 36 images, 6 species, 5 attributes" in again.stdout
    )
    assert "cub      complete" in rsbench("data", "status").stdout
    (
        tmp_path / "data" / "CUB_200_2011" / "images" / "001.Bird_0" / "Bird_0_0.jpg"
    ).unlink()
    after = rsbench("data", "status")
    assert "cub      incomplete" in after.stdout and "35 of 36 images" in after.stdout


def test_unknown_data_sets_are_named(rsbench):
    done = rsbench("data", "get", "cup")
    assert done.returncode == 1 and "Did you mean 'cub'" in done.stderr


def test_without_a_known_md5_the_archive_speaks_for_itself(server, tmp_path, caplog):
    nobodys = Archive("birds", "", "", ("attributes.txt",))
    assert get(nobodys, tmp_path, server.url)
    assert (
        f"is {hashlib.md5(CONTENT).hexdigest()}; there is none to compare it with"
        in caplog.text
    )
    assert "birds/images/x" in files(tmp_path)
    server.content = CONTENT[:-50]
    with pytest.raises(UserError, match="cannot unpack.*it was removed"):
        get(nobodys, tmp_path / "b", server.url)
    # A bad answer does not stand in the way of a good one.
    server.content = CONTENT
    assert get(nobodys, tmp_path / "b", server.url)


def test_no_single_bit_of_an_archive_can_change_unnoticed(server, tmp_path):
    nobodys = Archive("birds", "", "", ("attributes.txt",))
    small = pack({"attributes.txt": b"1 a\n", "birds/x": bytes(range(97)) * 5})
    server.content = small
    get(nobodys, tmp_path / "whole", server.url)
    expected = {
        name: (tmp_path / "whole" / name).read_bytes()
        for name in files(tmp_path / "whole")
    }
    for bit in range(0, 8 * len(small), 7):
        changed = bytearray(small)
        changed[bit // 8] ^= 1 << bit % 8
        root = tmp_path / str(bit)
        root.mkdir()
        (root / "birds.tgz").write_bytes(changed)
        try:
            get(nobodys, root, server.url)
        except UserError:
            assert files(root) == ["birds.tgz"]
            continue
        # There are bits that mean nothing, such as a time in gzip's header.
        found = {name: (root / name).read_bytes() for name in files(root)}
        assert found == expected


@pytest.mark.parametrize("compress", [bz2.compress, lzma.compress, bytes])
def test_what_follows_the_end_of_an_archive_is_refused(compress, server, tmp_path):
    nobodys = Archive("birds", "", "", ("attributes.txt",))
    plain = gzip.decompress(CONTENT)
    server.content = compress(plain)
    assert get(nobodys, tmp_path / "good", server.url)
    server.content = compress(plain + b"more")
    with pytest.raises(UserError, match="beyond the archive's end"):
        get(nobodys, tmp_path / "bad", server.url)
    assert not files(tmp_path / "bad")


def test_two_commands_at_once_download_once(server, tmp_path):
    threads = [
        threading.Thread(target=get, args=(archive(), tmp_path, server.url))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 1 and "birds/images/x" in files(tmp_path)
