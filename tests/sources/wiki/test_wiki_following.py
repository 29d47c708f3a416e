"""Which titles are lists, and which headings say that what follows is only related: in many languages."""

from __future__ import annotations

import pytest

from detent.sources.wiki.following import followed, is_followed, is_see_also
from detent.wikitext import parse
from detent.wikitext.site import Site, Title


def test_each_title_is_followed_once_and_that_of_the_article_never() -> None:
    article = parse("[[owl]] [[Mouse]] [[owl#Food]] [[mouse]] [[Night]]", Site(), "Owl")
    assert [link.title.text for link in followed(article, "Owl")] == ["Mouse", "Night"]


@pytest.mark.parametrize(
    "title",
    [
        "List of owls",
        "Lists of birds",
        "list of owls",
        "Liste der Eulen",
        "Liste von Eulen",
        "Liste des Hauses Eule",
        "Liste deutscher Vogelarten",
        "Listen der Vögel",
        "Liste des oiseaux",
        "Liste de chouettes",
        "Liste du patrimoine",
        "Liste d'oiseaux",
        "Liste d\u2019oiseaux",
        "Listes de chouettes",
        "Lista de aves",
        "Lista del patrimonio",
        "Lista di uccelli",
        "Lista delle civette",
        "Lista dei gufi",
        "Lista degli uccelli",
        "Lista över fåglar",
        "Lista das aves",
        "Lista dos mamíferos",
        "Anexo:Aves de Chile",
        "Llista d'ocells",
        "Llista de mussols",
        "Lijst van uilen",
        "Liste over fugler",
        "Lister over fugle",
        "Luettelo linnuista",
        "Список сов",
        "Списки птиц",
        "Список птахів України",
        "Seznam ptáků",
        "鳥の一覧",
        "한국의 새 목록",
    ],
)
def test_a_list_is_not_followed(title: str) -> None:
    assert not is_followed(Title(title))


@pytest.mark.parametrize(
    "title",
    [
        "Liste Fritz",
        "Liste Pilz",
        "Liste noire",
        "Liste Dewan",
        "Listening",
        "List",
        "List (surname)",
        "Franz Liszt",
        "List ordered",
        "Liste",
        "Listenhund",
        "Lista",
        "Lista Nordica",
        "Lista Schindlera",
        "Schindler's List",
        "Listado",
        "Lijst Pim Fortuyn",
        "Lijst Dedecker",
        "Seznam.cz",
        "Schindlers Liste",
        "跳跃列表",
        "Списковая структура",
        "Список Шиндлера",
        "Seznamka",
        "一覧",
        "목록",
    ],
)
def test_what_only_looks_like_a_list_is_followed(title: str) -> None:
    assert is_followed(Title(title))


@pytest.mark.parametrize(
    "heading",
    [
        "See also",
        "Siehe auch",
        "Voir aussi",
        "Véase también",
        "Voci correlate",
        "Ver também",
        "Zie ook",
        "Zobacz też",
        "См. также",
        "Див. також",
        "Se även",
        "Se også",
        "Související články",
        "Viz také",
        "Katso myös",
        "Kapcsolódó szócikkek",
        "Vezi și",
        "Δείτε επίσης",
        "ΔΕΊΤΕ ΕΠΊΣΗΣ",
        "Vegeu també",
        "Ayr\u0131ca bak\u0131n\u0131z",
        "Xem thêm",
        "Lihat pula",
        "انظر أيضًا",
        "انظر أيضا",
        "جستارهای وابسته",
        "ראו גם",
        "इन्हें भी देखें",
        " 関連項目 ",
        "参见",
        "參見",
        "参看",
        "같이 보기",
    ],
)
def test_a_heading_says_in_the_language_of_its_wiki_that_what_follows_is_related(heading: str) -> None:
    assert is_see_also(heading)


@pytest.mark.parametrize("heading", ["", "See", "History", "Voir", "References", "Also"])
def test_other_headings_do_not_say_so(heading: str) -> None:
    assert not is_see_also(heading)
