"""Behind a pooler (B05): with sessions of its own a daemon works; where transactions share them it says so and does not start."""

import subprocess

import pytest
from support import DONE
from support.pgbouncer import PgBouncer
from support.places import program

from it.working import outcomes, wait_done


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_b05_shared_sessions_are_refused_at_the_start_with_the_cause(pg, inboxd, build, tmp_path, mode):
    # With what others do in the pool meanwhile: several sessions of the server are idle.
    with PgBouncer(tmp_path, pg, mode, min_pool_size=5) as pooler:
        daemon = inboxd(start=False, database=pooler.conninfo())
        done = subprocess.run(
            [str(program("inboxd", build)), "--config", str(daemon.file)], capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 78
    assert "pool_mode = transaction" in done.stderr and "name the server itself" in done.stderr
    assert "cannot work on this database" in done.stderr
    assert pg.value("select count(*) from pg_locks where locktype = 'advisory'") == 0


def test_b05_a_pool_of_sessions_does(pg, inboxd, tmp_path):
    with PgBouncer(tmp_path, pg, "session") as pooler:
        with inboxd(database=pooler.conninfo(), providers={"h": {"on": "sql:t.ok"}}) as daemon:
            for n in range(30):
                assert daemon.post("h", {"id": f"e{n}"}).status == 200
            wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 30}
