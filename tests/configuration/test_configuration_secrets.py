"""Secrets are not shown."""

import pytest
from psycopg import pq
from tests.configuration.reading import explained, loaded, refusal

from detent.configuration import (
    Project,
    load,
)
from detent.configuration.masking import masked
from detent.errors import (
    InvalidSetting,
)


@pytest.mark.parametrize(
    ("connection", "shown"),
    [
        ("postgresql://me:hunter2@db:5432/x", "postgresql://me:***@db:5432/x"),
        ("postgres://me:hun@ter/2@db/x", "postgres://me:***@db/x"),
        ("postgresql://me@db/x", "postgresql://me@db/x"),
        ("postgresql://db1:5432,db2:5433/x", "postgresql://db1:5432,db2:5433/x"),
        ("postgresql://[::1]:5432/x", "postgresql://[::1]:5432/x"),
        ("postgresql://db/x?user=me&password=hunter2&port=1", "postgresql://db/x?user=me&password=***&port=1"),
        ("postgresql:///x?host=/run&sslpassword=hunter2", "postgresql:///x?host=/run&sslpassword=***"),
        ("host=db password=hunter2 user=me", "host=db password=*** user=me"),
        ("host=db password = 'hun\\' ter2' user=me", "host=db password = *** user=me"),
        ("host=db password=hun\\ ter2 user=me", "host=db password=*** user=me"),
        ("password='never closed hunter2", "password=***"),
        ("host=db PASSWORD=hunter2", "host=db PASSWORD=***"),
        ("host=db passfile=/home/me/.pgpass", "host=db passfile=/home/me/.pgpass"),
        ("host= db  options='-c work_mem=5MB'", "host= db  options='-c work_mem=5MB'"),
    ],
)
def test_passwords_are_masked_wherever_libpq_takes_them(connection: str, shown: str) -> None:
    assert masked(connection) == shown


@pytest.mark.parametrize(
    ("connection", "shown"),
    [
        ("host=db pasword=hunter2", "host=db ***"),
        ("host=db sslpasswd=hunter2", "host=db ***"),
        ("host=db password=hun ter2 user=me", "host=db password=*** *** user=me"),
        ("host=db password=hun ter2=x user=me", "host=db password=*** *** user=me"),
        ("password='hun'ter2 user=me", "password=****** user=me"),
        ("me:hunter2@db/x", "***"),
        ("postgres//me:hunter2@db/x", "***"),
        ("postgresql:/me:hunter2@db/x?sslmode=require", "***"),
        ("postgresql://me:hunter2/db/x", "postgresql://me:***"),
        ("postgresql://db1:5432,me:hunter2/x", "postgresql://db1:5432,me:***"),
        ("postgresql://db/x?pasword=hunter2&sslmode=require", "postgresql://db/x?pasword=***&sslmode=require"),
        ("postgresql://db/x?hunter2", "postgresql://db/x?***"),
    ],
)
def test_in_a_string_that_was_written_wrongly_what_may_be_a_password_is_masked(connection: str, shown: str) -> None:
    assert masked(connection) == shown


def test_all_that_libpq_knows_to_be_harmless_is_shown() -> None:
    for option in pq.Conninfo.get_defaults():
        name, secret = option.keyword.decode(), option.dispchar == b"*" or b"_key" in option.keyword
        assert masked(f"{name}=value") == (f"{name}=***" if secret else f"{name}=value")
        assert masked(f"postgresql://db?{name}=value") == f"postgresql://db?{name}={'***' if secret else 'value'}"


def test_the_password_is_shown_neither_by_explain_nor_by_repr(project: Project) -> None:
    configuration = loaded(project, 'database = "postgresql://me:hunter2@db/x"')
    assert configuration.database == "postgresql://me:hunter2@db/x"
    assert explained(configuration, "database").value == "postgresql://me:***@db/x"
    assert "hunter2" not in repr(configuration)


@pytest.mark.parametrize("value", ["mysql://me:hunter2@db/x", "hunter2", "postgresql:me:hunter2@db"])
def test_an_error_about_the_database_does_not_show_its_value(value: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        load(None, {"DETENT_DATABASE_URL": value})
    assert str(refused.value) == (
        "environment DETENT_DATABASE_URL: database has a value that cannot be used. "
        "It must be a postgresql:// URL or a connection string such as host=db dbname=detent."
    )


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('api_key_env = "sk-hunter2"', "a variable's name in capitals, not the key itself."),
        (
            'base_url = "https://me:hunter2@api.example/v1"',
            "an http:// or https:// address without a password or query.",
        ),
        (
            'base_url = "https://api.example/v1?key=hunter2"',
            "an http:// or https:// address without a password or query.",
        ),
    ],
)
def test_a_key_in_the_wrong_place_is_refused_and_not_repeated(project: Project, toml: str, expected: str) -> None:
    name = toml.partition(" ")[0]
    message = refusal(project, f"[embedding]\n{toml}", InvalidSetting)
    assert message == f"line 2: embedding.{name} has a value that cannot be used. It must be {expected}"


def test_the_name_of_the_keys_variable_is_no_secret(project: Project) -> None:
    configuration = loaded(project, '[embedding]\napi_key_env = "MY_KEY"\nbase_url = "http://localhost:8000/v1"')
    assert explained(configuration, "embedding.api_key_env").value == "MY_KEY"
    assert explained(configuration, "embedding.base_url").value == "http://localhost:8000/v1"
