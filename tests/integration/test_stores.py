from soulrift import store


def test_x(any_store: str) -> None:
    """It is."""
    with store.create(any_store) as m:
        m.start('{"type":"start_match","match":"m","players":[{"player":"a"},{"player":"b"}]}')
        assert m.state("m").entries == 1
