"""The example plug-in is built by its own project against the installed package, and does what its page says."""

import re
import subprocess

import pytest
from support import DEAD, DONE
from support.places import ROOT

from it.working import QUICK, wait_done

EXAMPLE = ROOT / "docs" / "examples" / "plugin"


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    """The package as it is installed, and the example built and installed beside it."""
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", ROOT / "build" / build, "--prefix", folder / "usr")
    run("cmake", "-S", EXAMPLE, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={folder}/usr", f"-DCMAKE_INSTALL_PREFIX={folder}/usr",
        "-DCMAKE_C_FLAGS=-Werror")  # fmt: skip
    run("cmake", "--build", folder / "build")
    run("cmake", "--install", folder / "build")
    return folder / "usr"


def test_the_example_runs(pg, inboxd, prefix):
    source = (EXAMPLE / "orders.c").read_text()
    pg.execute(re.sub(r"^ \*", "", re.search(r"create schema.*?inboxd_daemon;\n \*/", source, re.DOTALL)[0].rstrip("/*"), flags=re.MULTILINE))
    daemon = inboxd(
        providers={"h": {"on": "ignore", "on order.*": "module:orders", "event_type": "body:/type", **QUICK}},
        module_path=str(prefix / "lib/inboxd/modules"),
    )
    for number, body in enumerate([
        {"type": "order.paid", "order": {"number": "A1"}},
        {"type": "order.sent", "order": {"number": "A1"}},
        {"type": "order.paid", "order": {}},
        {"type": "order.paid", "order": {"number": "A1"}},
    ]):  # fmt: skip
        assert daemon.post("h", {"id": f"e{number}", **body}).status == 200
    wait_done(pg)
    assert pg.rows("select number, event_id from shop.paid_order") == [("A1", pg.value("select event_id from shop.paid_order"))]
    assert [row for row in pg.rows("select status, last_error from webhook_inbox order by id") if row[0] == DONE] == [(DONE, None)] * 2
    assert sorted(pg.column("select last_error from webhook_inbox where status = %s" % DEAD)) == [
        "an order without a number",
        'duplicate key value violates unique constraint "paid_order_pkey"',
    ]


def test_pkg_config_knows_the_package(prefix):
    words = ["env", f"PKG_CONFIG_PATH={prefix}/lib/pkgconfig:{prefix}/share/pkgconfig", "pkg-config"]
    assert run(*words, "--cflags", "inboxd").strip() == f"-I{prefix}/include"
    assert run(*words, "--variable=moduledir", "inboxd").strip() == f"{prefix}/lib/inboxd/modules"
    assert (prefix / "include/inboxd/handler.h").read_text() == (ROOT / "include/inboxd/handler.h").read_text()


def test_the_header_is_good_for_cpp(prefix, tmp_path):
    source = tmp_path / "plugin.cc"
    source.write_text("""
        #include <inboxd/handler.h>
        static int on_event(inboxd_event *event, void *, void *) { return inboxd_id(event) ? INBOXD_DONE : INBOXD_RETRY; }
        INBOXD_MODULE(.handle = on_event);
    """)
    run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-shared", "-fPIC", f"-I{prefix}/include",
        source, "-o", tmp_path / "plugin.so")  # fmt: skip
    assert " inboxd_module" in run("nm", "-D", tmp_path / "plugin.so")
