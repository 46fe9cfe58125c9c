"""The front door: language by address, our head in the page, files compressed once, safe headers, nobody else asked."""

import gzip
import json
import re
import socket
import threading
from collections.abc import Iterator
from urllib.parse import unquote

import brotli
import gradio as gr
import pytest
from starlette.testclient import TestClient

from viz.pages import server
from viz.pages.downloads import DOWNLOADS, File
from viz.pages.front import LONGEST_ADDRESS, redirect_of, rewrite
from viz.pages.packed import Packed, packed_file
from viz.pages.taking import offered

HTML = {"accept": "text/html"}


def _build(language: str) -> gr.Blocks:
    def shout(text: str) -> str:
        """`text` in capitals."""
        return f"{language} {text.upper()}"

    with gr.Blocks() as page:
        text = gr.Textbox(label="Text", elem_id="text")
        text.submit(shout, text, text, api_name="run")
    return page


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(server.make_app(_build)) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "query", "prefers", "target"),
    [
        ("/", "", "en-US,en;q=0.9", None),
        ("/", "", "zh-CN,zh;q=0.9", "zh/"),
        ("/", "head=3", "zh", "zh/?head=3"),
        ("/", "lang=en", "zh-CN", None),
        ("/", "lang=zh&text=a%26b&head=3", "en", "zh/?text=a%26b&head=3"),
        ("/", "lang=zh", "", "zh/"),
        ("/zh/", "", "en", None),
        ("/zh/", "lang=zh", "en", None),
        ("/zh/", "lang=en&text=%E4%BD%A0", "zh", "../?lang=en&text=%E4%BD%A0"),
        ("/zh", "head=3", "en", "zh/?head=3"),
        ("/", "text=%0D%0Aset-cookie:a&lang=zh", "en", "zh/?text=%0D%0Aset-cookie%3Aa"),
        ("/config", "lang=zh", "zh", None),
    ],
)
def test_where_a_visitor_belongs(path: str, query: str, prefers: str, target: str | None) -> None:
    assert redirect_of(path, query, prefers) == target


def test_each_language_is_a_page_of_its_own(client: TestClient) -> None:
    english, chinese = (client.get(path, headers=HTML).text for path in ("/?lang=en", "/zh/"))
    assert re.search(r'<html\s+lang="en"', english) and re.search(r'<html\s+lang="zh-CN"', chinese)
    assert '<header class="stt-header">' in english and 'id="language"' in chinese
    assert "og:image" not in english and "raw.githubusercontent" not in english


def test_a_chinese_browser_is_led_to_the_chinese_page(client: TestClient) -> None:
    found = client.get("/?head=3", headers={**HTML, "accept-language": "zh-CN"}, follow_redirects=False)
    assert (found.status_code, found.headers["location"]) == (307, "zh/?head=3")
    # A program that asks for JSON is left where it is.
    assert client.get("/config", headers={"accept-language": "zh-CN"}, follow_redirects=False).status_code == 200


@pytest.mark.parametrize("start", ["/?", "/zh/?", "/config?", "/"])
def test_an_address_that_gradio_could_not_read_is_refused(client: TestClient, start: str) -> None:
    assert client.get(start.ljust(LONGEST_ADDRESS + 2, "a"), headers=HTML).status_code == 414


def test_every_answer_carries_the_safe_headers(client: TestClient) -> None:
    for path in ("/", "/config", "/nothing", "/theme.css"):
        headers = client.get(path).headers
        assert (
            headers["x-content-type-options"] == "nosniff"
            and "default-src 'self'" in headers["content-security-policy"]
        )


@pytest.mark.parametrize(
    ("encoding", "unpack"), [("br", brotli.decompress), ("gzip", gzip.decompress), ("identity", bytes)]
)
def test_plotly_is_compressed_once_and_kept(client: TestClient, encoding: str, unpack: object) -> None:
    name = re.search(r'data-plotly="([^"]+)"', client.get("/?lang=en", headers=HTML).text).group(1)
    with client.stream("GET", f"/stt/{name}", headers={"accept-encoding": encoding}) as answer:
        body = b"".join(answer.iter_raw())
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers.get("content-encoding", "identity") == encoding
    assert b"plotly.js v" in unpack(body)[:400] and (encoding == "identity" or len(body) < 2_000_000)


def test_scripts_of_gradio_are_kept_too(client: TestClient) -> None:
    name = next(server.GRADIO_ASSETS.glob("index-*.js")).name
    for prefix in ("", "/zh"):
        answer = client.get(f"{prefix}/assets/{name}")
        assert answer.status_code == 200 and "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize("name", ["..%2findex.html", "%2e%2e", "nothing.js", "..%5cindex.html"])
def test_only_files_of_the_folder_are_served(client: TestClient, name: str) -> None:
    assert client.get(f"/assets/{name}").status_code in (403, 404)
    assert client.get(f"/stt/{name}").status_code == 404
    assert packed_file(server.GRADIO_ASSETS, "../index.html") is None


HOSTILE_NAMES = (
    "head-map-mini-gpt.csv",
    'a"; filename="evil.exe',
    "a\r\nSet-Cookie: a=b.csv",
    "小明 a.csv",
    "..\\\\up;'<b>%2e%2e.html",
)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_made_file_is_handed_out_and_never_shown(client: TestClient, name: str) -> None:
    """A model's name, which is in the file's, may be anything that was typed."""
    address = json.loads(offered(File(name, "text/html", b"<script>alert(1)</script>")))["address"]
    answer = client.get(f"/stt/{address}")
    assert answer.status_code == 200 and answer.content == b"<script>alert(1)</script>"
    headers = answer.headers
    start, _, quoted = headers["content-disposition"].partition("filename*=UTF-8''")
    assert start == "attachment; " and unquote(quoted) == name and re.fullmatch(r"[\w.%~/-]+", quoted, re.ASCII)
    assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
    assert "set-cookie" not in headers and headers["content-security-policy"].startswith("default-src 'self'")


@pytest.mark.parametrize("path", ["x/a.csv", "/a.csv", "%2e%2e/a.csv", "..%2f..%2fetc/passwd", "a"])
def test_a_file_that_nobody_made_is_not_there(client: TestClient, path: str) -> None:
    assert client.get(f"/stt/file/{path}").status_code == 404


def test_the_name_in_the_address_chooses_no_file(client: TestClient) -> None:
    token = DOWNLOADS.offer(File("true.csv", "text/csv", b"1"))
    answer = client.get(f"/stt/file/{token}/other.html")
    assert answer.content == b"1" and answer.headers["content-disposition"].endswith("true.csv")
    assert answer.headers["content-type"].startswith("text/csv")


def test_a_new_version_has_a_new_address() -> None:
    assert Packed(b"a", "page.js").name != Packed(b"b", "page.js").name


def test_rewrite_touches_only_the_first_of_each() -> None:
    page = '<html lang="en"><meta name="twitter:card" content="a" /><style></style><gradio-app lang="en"></gradio-app>'
    assert rewrite(page, "zh", "HEAD", "BODY") == (
        '<html lang="zh-CN"><style></style>\nHEADBODY\n<gradio-app lang="en"></gradio-app>'
    )


def test_the_queue_is_bounded_and_closed_to_direct_calls(client: TestClient) -> None:
    config = client.get("/config").json()
    assert config["enable_queue"] and config["run_history"] is False and config["analytics_enabled"] is False
    assert client.post("/gradio_api/run/run", json={"data": ["a"]}).status_code == 404


def test_a_large_upload_is_refused(client: TestClient) -> None:
    large = {"files": ("a.txt", b"a" * 1_100_000)}
    assert client.post("/gradio_api/upload", files=large).status_code == 413


def test_a_taken_port_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert server.serve(_never, "127.0.0.1", port) == 1
    printed = capsys.readouterr()
    assert str(port) in printed.err and printed.err.count("\n") == 1 and not printed.out


def test_an_impossible_address_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert server.serve(_never, "203.0.113.7", 1) == 1
    assert "203.0.113.7" in capsys.readouterr().err


def _never(language: str) -> gr.Blocks:
    raise AssertionError("pages are built only when the port is ours")


def test_the_server_looks_up_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = socket.getaddrinfo

    def listen_in(host: object, *rest: object, **named: object) -> object:
        asked.append(str(host))
        return real(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", listen_in)
    with TestClient(server.make_app(_build)) as client:
        for path in ("/", "/zh/", "/config", "/gradio_api/info"):
            assert client.get(path, headers=HTML).status_code == 200
    for thread in threading.enumerate():  # telemetry, if there were any, runs in threads
        if thread is not threading.current_thread() and thread.daemon:
            thread.join(timeout=0.2)
    assert [name for name in asked if name not in ("127.0.0.1", "localhost", "::1", "None")] == []
