"""What files of code refer to, in the languages other than Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from detent.documents.formats import parse
from detent.sources.files.folder import Folder
from detent.sources.files.linking import Linked, Roots, links
from detent.sources.files.settings import FolderSettings


def linked(root: Path, path: str, text: str, others: Mapping[str, str] | None = None) -> Linked:
    """What is found in a file, in a folder that has others too."""
    for name, content in {path: text, **(others or {})}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return links(path, parse(text.encode(), path), Roots(Folder(FolderSettings(root))))


def imported(found: Linked) -> list[tuple[str, str]]:
    return [(each.label, each.key) for each in found.references.get("", ()) if each.type == "IMPORTS"]


def files(*paths: str) -> list[tuple[str, str]]:
    return [("File", path) for path in paths]


def consumed(found: Linked, part: str) -> list[tuple[str, str]]:
    references = found.references.get(part, ())
    return [(each.properties["kind"], each.key) for each in references if each.type == "CONSUMES"]


def aliased(found: Linked) -> dict[str, str]:
    assert {each.label for each in found.aliases} <= {"File", "Scope"}
    return {each.key: each.of for each in found.aliases}


@pytest.mark.parametrize(
    ("path", "text", "part", "other", "defining", "scope"),
    [
        ("p/a.py", "from .b import C\ndef f():\n    C.m()\n", "f", "p/b.py", "class C:\n    def m(): ...\n", "C.m"),
        ("a.ts", 'import {g} from "./b";\nfunction f() { g(); }', "f", "b.ts", "export function g() {}", "g"),
        ("a.js", 'const b = require("./b");\nfunction f() { b.g(); }', "f", "b.js", "exports.g = () => 1;", "g"),
        ("src/a.rs", "use crate::b::C;\nfn f() { C::m(); }", "f", "src/b.rs", "struct C;\nimpl C { fn m() {} }", "C.m"),
        ("src/a.rs", "fn f() { crate::b::c::g(); }", "f", "src/b.rs", "mod c { fn g() {} }", "c.g"),
        (
            "q/A.java",
            "package q;\nclass A { void f() { B.m(); } }",
            "A.f",
            "q/B.java",
            "class B { void m() {} }",
            "B.m",
        ),
        ("a.c", '#include "b.h"\nint f(void) { return g(); }', "f", "b.h", "int g(void);", "g"),
        ("a.c", '#include "b.h"\nint f(void) { return g(); }', "f", "b.c", "int g(void) { return 1; }", "g"),
    ],
)
def test_a_name_leads_to_the_scope_that_another_file_has(
    *, tmp_path: Path, path: str, text: str, part: str, other: str, defining: str, scope: str
) -> None:
    assert scope in {each.key for each in parse(defining.encode(), other).parts}
    assert ("call", f"{other}#{scope}") in consumed(linked(tmp_path, path, text), part)


# JavaScript and TypeScript


def test_a_relative_module_has_the_endings_of_its_family(tmp_path: Path) -> None:
    typed = ["a/u.ts", "a/u.tsx", "a/u.js"]
    assert imported(linked(tmp_path, "a/b.ts", 'import {x} from "./u";')) == files(*typed)
    plain = ["u.js", "u.jsx", "u.ts", "u.tsx"]
    assert imported(linked(tmp_path, "a/b.js", 'const u = require("../u");')) == files(*plain)


def test_a_module_with_an_ending_may_be_made_of_another(tmp_path: Path) -> None:
    found = linked(tmp_path, "a.ts", 'import {x} from "./u.js"; import "./s.css"; import y from "./d.json";')
    assert imported(found) == files("u.js", "u.ts", "u.tsx", "u.jsx", "s.css", "d.json")


def test_a_dot_in_a_name_or_a_folder_called_like_an_ending_is_no_ending(tmp_path: Path) -> None:
    found = linked(tmp_path, "a.js", 'import {x} from "./user.service"; import {y} from "./js";')
    assert ("File", "user.service.js") in imported(found)
    assert ("File", "js.js") in imported(found)


def test_the_folder_itself_is_its_index(tmp_path: Path) -> None:
    assert imported(linked(tmp_path, "a/b.js", 'import {x} from "..";')) == files(
        "index.js", "index.jsx", "index.ts", "index.tsx"
    )


def test_an_imported_picture_is_an_image(tmp_path: Path) -> None:
    assert imported(linked(tmp_path, "a/b.js", 'import logo from "./logo.svg?raw";')) == [("ImageFile", "a/logo.svg")]


def test_bare_names_are_packages_with_their_scope(tmp_path: Path) -> None:
    text = 'import a from "react"; import b from "@org/kit/deep"; import c from "lodash/fp"; import d from "node:fs";'
    names = ["npm:react", "npm:@org/kit", "npm:lodash", "npm:fs"]
    found = linked(tmp_path, "a.js", text)
    assert imported(found) == [("Library", name) for name in names]
    assert [each.node.title for each in found.mentions] == ["react", "@org/kit", "lodash", "fs"]


def test_aliases_of_other_tools_and_addresses_are_not_guessed(tmp_path: Path) -> None:
    text = 'import a from "@/x"; import b from "~/y"; import c from "#z"; import d from "https://x.org/m.js";'
    found = linked(tmp_path, "a.js", text)
    assert not found.references
    assert not found.mentions


def test_folders_at_the_top_may_be_imported_by_their_names(tmp_path: Path) -> None:
    others = {"package.json": "{}", "src/parts/button.ts": ""}
    found = linked(tmp_path, "src/app.ts", 'import {B} from "parts/button"; import p from "parts";', others)
    assert imported(found)[:1] == files("src/parts/button.ts")
    assert not found.mentions


def test_imports_lead_to_scopes_by_their_names_or_by_default(tmp_path: Path) -> None:
    text = (
        'import D, {f as g} from "./u.mjs"; import * as n from "./n.mjs";\n'
        "class K { m() { g(); D(); n.go(); this.o(); o(); } o() {} }"
    )
    assert consumed(linked(tmp_path, "a.js", text), "K.m") == [
        ("call", "u.mjs#f"),
        ("call", "u.mts#f"),
        ("call", "u.mjs#default"),
        ("call", "u.mts#default"),
        ("call", "n.mjs#go"),
        ("call", "n.mts#go"),
        ("call", "a.js#K.o"),
    ]


def test_an_index_is_meant_where_its_folder_is_named(tmp_path: Path) -> None:
    found = linked(tmp_path, "a/u/index.ts", "export class K { m() { function inner() {} } }\n")
    assert aliased(found) == {
        "a/u.ts": "a/u/index.ts",
        "a/u.ts#K": "a/u/index.ts#K",
        "a/u.ts#K.m": "a/u/index.ts#K.m",
    }
    assert aliased(linked(tmp_path, "index.ts", "export class K {}\n")) == {}
    assert aliased(linked(tmp_path, "a/other.ts", "export class K {}\n")) == {}


def test_what_a_file_hands_on_is_meant_by_its_name_there(tmp_path: Path) -> None:
    text = 'export { f, g as h, default as D } from "./x"; export * from "./y"; export * as n from "./z";\n'
    text += 'import { k } from "./k"; export { m } from "lib"; export { o } from "./o.js";\n'
    assert aliased(linked(tmp_path, "a/api.ts", text)) == {
        "a/api.ts#f": "a/x.ts#f",
        "a/api.ts#h": "a/x.ts#g",
        "a/api.ts#D": "a/x.ts#default",
        "a/api.ts#o": "a/o.ts#o",
    }
    found = aliased(linked(tmp_path, "a/index.js", 'export { f } from "./x";\n'))
    assert found == {"a.js": "a/index.js", "a.js#f": "a/index.js#f", "a/index.js#f": "a/x.js#f"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("export default function f() {}", {"default": "f"}),
        ("class K { m() {} }\nexport default K;", {"default": "K", "default.m": "K.m"}),
        ("class K {}\nfunction f() {}\nexport { K as L, f as default };", {"L": "K", "default": "f"}),
        ("function f() {}\nexport { f };", {}),
        ("export default () => 1;", {}),
        ("export default other;", {}),
    ],
)
def test_what_a_file_exports_by_another_name_is_meant_by_that(
    tmp_path: Path, text: str, expected: dict[str, str]
) -> None:
    found = aliased(linked(tmp_path, "a.ts", text))
    assert found == {f"a.ts#{name}": f"a.ts#{scope}" for name, scope in expected.items()}


# Go


def test_a_package_of_the_own_module_is_a_folder(tmp_path: Path) -> None:
    text = 'package main\nimport ("fmt"; "ex.org/m/util"; "ex.org/m"; "ex.org/more/x")\n'
    found = linked(tmp_path, "back/cmd/main.go", text, {"back/go.mod": "// old\nmodule ex.org/m // new\n\ngo 1.22\n"})
    assert imported(found) == [
        ("Library", "go:fmt"),
        ("Directory", "back/util"),
        ("Directory", "back"),
        ("Library", "go:ex.org/more/x"),
    ]


def test_the_root_of_the_source_is_a_folder_too(tmp_path: Path) -> None:
    found = linked(tmp_path, "a/b.go", 'package a\nimport "ex.org/m"\n', {"go.mod": "module ex.org/m\n"})
    assert imported(found) == [("Directory", ".")]


def test_go_consumes_within_the_file(tmp_path: Path) -> None:
    text = "type S struct{}\nfunc (s *S) Run() { s.Go(); help(); fmt.Println() }\nfunc (s *S) Go() {}\nfunc help() {}\n"
    found = linked(tmp_path, "a.go", 'package a\nimport "fmt"\n' + text)
    assert consumed(found, "S.Run") == [("call", "a.go#S.Go"), ("call", "a.go#help"), ("use", "a.go#S")]


GO_MODULE = {"go.mod": "module ex.org/m\n"}


def test_a_name_of_the_own_package_goes_by_the_folder(tmp_path: Path) -> None:
    text = "package net\nfunc f(c *Conn) string { dial(len(c.name)); return string(1) }\n"
    assert consumed(linked(tmp_path, "net/a.go", text), "f") == [("call", "net#dial"), ("use", "net#Conn")]
    assert consumed(linked(tmp_path, "b.go", text), "f") == [("call", ".#dial"), ("use", ".#Conn")]


def test_a_method_of_a_type_in_another_file_goes_by_the_folder(tmp_path: Path) -> None:
    found = linked(tmp_path, "net/a.go", "package net\nfunc (c *Conn) Close() { c.flush() }\n")
    assert consumed(found, "Conn.Close") == [("call", "net#Conn.flush"), ("use", "net#Conn")]


def test_a_name_of_another_package_is_one_with_a_capital_letter(tmp_path: Path) -> None:
    text = "func f() { net.Dial(); net.dial(); m.Run(); os.Exit() }"
    imports = 'package a\nimport ("ex.org/m/net"; m "ex.org/m"; "os")\n'
    assert consumed(linked(tmp_path, "a/a.go", imports + text, GO_MODULE), "f") == [
        ("call", "net#Dial"),
        ("call", ".#Run"),
    ]


def test_a_go_file_says_what_it_adds_to_its_package(tmp_path: Path) -> None:
    text = "package net\ntype Conn struct{}\nfunc (c Conn) Close() {}\nfunc dial() { type x int }\nfunc init() {}\n"
    assert aliased(linked(tmp_path, "net/a.go", text)) == {
        "net#Conn": "net/a.go#Conn",
        "net#Conn.Close": "net/a.go#Conn.Close",
        "net#dial": "net/a.go#dial",
    }


def test_programs_and_tests_add_nothing_to_the_package_in_whose_folder_they_are(tmp_path: Path) -> None:
    program = linked(tmp_path, "net/gen.go", "package main\nfunc main() { help() }\nfunc dial() {}\n")
    assert aliased(program) == {"net:main#dial": "net/gen.go#dial"}
    assert consumed(program, "main") == [("call", "net:main#help")]
    assert aliased(linked(tmp_path, "net/a_test.go", "package net\nfunc help() {}\n")) == {}


def test_a_test_sees_its_package_only_if_it_is_of_it(tmp_path: Path) -> None:
    inside = linked(tmp_path, "net/a_test.go", "package net\nfunc TestA() { dial() }\n")
    assert consumed(inside, "TestA") == [("call", "net#dial")]
    outside = linked(tmp_path, "net/b_test.go", "package net_test\nfunc TestA() { dial() }\n")
    assert consumed(outside, "TestA") == []


# Rust

CARGO = {"Cargo.toml": '[package]\nname = "my-crate"\n'}


def test_paths_in_the_crate_lead_to_the_files_of_modules(tmp_path: Path) -> None:
    text = "use crate::a::b::Thing;\nuse super::x;\nuse self::inner::*;\nmod part;\n"
    assert imported(linked(tmp_path, "src/net/mod.rs", text, CARGO)) == files(
        *("src/a/b.rs", "src/a/b/mod.rs"),
        *("src/lib.rs", "src/main.rs", "src/x.rs", "src/x/mod.rs"),
        *("src/net/inner.rs", "src/net/inner/mod.rs", "src/net/part.rs", "src/net/part/mod.rs"),
    )


def test_a_file_that_is_no_mod_has_its_modules_in_a_folder_of_its_name(tmp_path: Path) -> None:
    found = linked(tmp_path, "src/net.rs", "mod part;\nuse super::Top;\n", CARGO)
    assert imported(found) == files("src/net/part.rs", "src/net/part/mod.rs", "src/lib.rs", "src/main.rs")


def test_other_crates_are_libraries_but_the_own_one_and_own_modules_are_not(tmp_path: Path) -> None:
    text = "mod common;\nuse std::io;\nuse serde::Serialize;\nuse my_crate::Thing;\nuse common::setup;\n"
    found = linked(tmp_path, "tests/it.rs", text, CARGO)
    assert imported(found) == [
        *files("tests/common.rs", "tests/common/mod.rs"),
        ("Library", "rust:std"),
        ("Library", "rust:serde"),
        *files("src/lib.rs", "src/main.rs"),
        *files("tests/common/setup.rs", "tests/common/setup/mod.rs"),
    ]


def test_what_a_module_in_the_file_takes_from_above_is_of_the_file_itself(tmp_path: Path) -> None:
    text = "fn helper() {}\nmod tests {\n    use super::*;\n    fn it() { super::helper(); }\n}\n"
    found = linked(tmp_path, "src/a.rs", text, CARGO)
    assert imported(found) == []
    assert consumed(found, "tests.it") == [("call", "src/a.rs#helper")]


def test_used_names_lead_to_scopes_of_modules_or_of_those_around_them(tmp_path: Path) -> None:
    text = "use crate::net::Client;\nfn f() { Client::open(); crate::log(); Vec::new(); }\n"
    assert consumed(linked(tmp_path, "src/a.rs", text, CARGO), "f") == [
        ("call", "src/net.rs#Client.open"),
        ("call", "src/net/mod.rs#Client.open"),
        ("call", "src/lib.rs#net.Client.open"),
        ("call", "src/main.rs#net.Client.open"),
        ("use", "src/net.rs#Client"),
        ("use", "src/net/mod.rs#Client"),
        ("call", "src/lib.rs#log"),
        ("call", "src/main.rs#log"),
    ]


def test_fields_are_not_taken_for_modules(tmp_path: Path) -> None:
    text = "struct P;\nimpl P { fn run(&self) { self.go(); self.log.write(); Self::go(); } fn go(&self) {} }\n"
    assert consumed(linked(tmp_path, "src/a.rs", text, CARGO), "P.run") == [("call", "src/a.rs#P.go")]


# Java

MAIN = "app/src/main/java/org/acme/shop/"


def test_classes_are_in_files_of_their_name_in_either_source_folder(tmp_path: Path) -> None:
    text = "package org.acme.shop;\nimport org.acme.tools.Box;\nimport org.acme.tools.*;\nclass Cart {}\n"
    twin = MAIN.replace("main", "test").replace("shop/", "tools")
    assert imported(linked(tmp_path, f"{MAIN}Cart.java", text)) == [
        *files(f"{MAIN[:-5]}tools/Box.java", f"{twin}/Box.java"),
        ("Directory", f"{MAIN[:-5]}tools"),
        ("Directory", twin),
    ]


def test_other_packages_are_libraries(tmp_path: Path) -> None:
    text = (
        "package org.acme.shop;\nimport java.util.List;\nimport org.junit.jupiter.api.Test;\nimport org.apache.io.A;\n"
    )
    found = linked(tmp_path, f"{MAIN}Cart.java", text)
    names = ["java:java.util", "java:org.junit", "java:org.apache.io"]
    assert imported(found) == [("Library", name) for name in names]


def test_a_file_outside_of_its_package_folder_tells_no_source_folder(tmp_path: Path) -> None:
    found = linked(tmp_path, "odd/Cart.java", "package org.acme.shop;\nimport org.acme.tools.Box;\nclass Cart {}\n")
    assert not found.references


def test_java_consumes_imported_classes_and_those_of_its_package(tmp_path: Path) -> None:
    text = (
        "package shop;\nimport shop.tools.Box;\nimport static shop.tools.Sizes.MAX;\nclass Cart extends Base {\n"
        "  void run() { stop(); Box.open(); String.valueOf(1); int x = MAX; }\n  void stop() {}\n}\n"
    )
    found = linked(tmp_path, "src/shop/Cart.java", text)
    assert consumed(found, "Cart") == [("inherit", "src/shop/Base.java#Base")]
    assert consumed(found, "Cart.run") == [
        ("call", "src/shop/Cart.java#Cart.stop"),
        ("call", "src/shop/tools/Box.java#Box.open"),
        ("use", "src/shop/tools/Box.java#Box"),
        ("use", "src/shop/tools/Sizes.java#Sizes.MAX"),
        ("use", "src/shop/tools/Sizes.java#Sizes"),
    ]


# C and C++


def test_headers_are_beside_the_file_or_where_headers_are(tmp_path: Path) -> None:
    found = linked(tmp_path, "core/a.c", '#include "x.h"\n#include <stdio.h>\n#include "../../out.h"\n')
    assert imported(found) == [*files("core/x.h", "x.h", "include/x.h", "src/x.h"), ("Library", "c:stdio.h")]


def test_calls_of_unknown_names_may_be_declared_in_a_header_or_defined_beside_it(tmp_path: Path) -> None:
    text = '#include "x.h"\n#include "a.h"\nint near(void) { return 1; }\nint run(void) { return near() + far(); }\n'
    assert consumed(linked(tmp_path, "src/a.c", text), "run") == [
        ("call", "src/a.c#near"),
        *(("call", f"{file}#far") for file in ("src/x.h", "src/x.c", "src/a.h", "x.h", "x.c", "a.h")),
    ]


def test_with_many_headers_nothing_is_guessed(tmp_path: Path) -> None:
    text = "".join(f'#include "{name}.h"\n' for name in "wxyz") + "int run(void) { return far(); }\n"
    assert consumed(linked(tmp_path, "a.c", text), "run") == []


def test_a_method_defined_outside_of_its_class_sees_its_members(tmp_path: Path) -> None:
    text = "namespace n { class Q { void m() { this->k(); } void k(); }; }\nvoid n::Q::k() { m(); }\n"
    found = linked(tmp_path, "a.cpp", text)
    assert consumed(found, "n.Q.m") == [("call", "a.cpp#n.Q.k")]
    assert consumed(found, "n.Q.k") == [("call", "a.cpp#n.Q.m")]


# Ruby


def test_what_is_required_is_a_file_of_lib_or_a_gem(tmp_path: Path) -> None:
    text = 'require "json"\nrequire "shop/cart"\nrequire_relative "../near"\n'
    found = linked(tmp_path, "gems/a/lib/shop/b.rb", text, {"gems/a/Gemfile": "", "gems/a/lib/shop.rb": ""})
    assert imported(found) == [("Library", "ruby:json"), *files("gems/a/lib/shop/cart.rb", "gems/a/lib/near.rb")]


def test_ruby_consumes_within_the_file(tmp_path: Path) -> None:
    text = "module Shop\n  class Cart < Base\n    def run; self.go; stop(1); Shop::Cart.new; end\n    def go; end\n"
    found = linked(tmp_path, "a.rb", text + "    def stop(x); end\n  end\nend\n")
    assert consumed(found, "Shop.Cart") == []
    assert consumed(found, "Shop.Cart.run") == [
        ("call", "a.rb#Shop.Cart.go"),
        ("call", "a.rb#Shop.Cart.stop"),
        ("use", "a.rb#Shop.Cart"),
    ]


SHOP = {"lib/shop.rb": "", "app/models/user.rb": "", "app/models/user/role.rb": ""}


def test_a_constant_is_in_the_file_of_its_name_in_lib_or_in_app(tmp_path: Path) -> None:
    text = "def f; Shop::LineItem.total(1); User.find(1); User::Role.new; Other::Thing.go(1); JSON.dump(1); end\n"
    assert consumed(linked(tmp_path, "lib/a.rb", text, SHOP), "f") == [
        ("call", "lib/shop/line_item.rb#Shop.LineItem.total"),
        ("use", "lib/shop/line_item.rb#Shop.LineItem"),
        ("call", "app/models/user.rb#User.find"),
        ("use", "app/models/user.rb#User"),
        ("use", "app/models/user/role.rb#User.Role"),
    ]


def test_a_constant_may_be_in_one_of_the_modules_around(tmp_path: Path) -> None:
    text = "module Shop\n  class Cart < Base\n    def f; Line.add(1); User.find(1); end\n  end\nend\n"
    found = linked(tmp_path, "lib/shop/cart.rb", text, SHOP)
    assert consumed(found, "Shop.Cart") == [("inherit", "lib/shop/base.rb#Shop.Base")]
    assert consumed(found, "Shop.Cart.f") == [
        ("call", "lib/shop/cart/line.rb#Shop.Cart.Line.add"),
        ("call", "lib/shop/line.rb#Shop.Line.add"),
        ("use", "lib/shop/cart/line.rb#Shop.Cart.Line"),
        ("use", "lib/shop/line.rb#Shop.Line"),
        ("call", "app/models/user.rb#User.find"),
        ("use", "app/models/user.rb#User"),
    ]


def test_the_files_that_are_required_beside_a_file_may_have_its_names(tmp_path: Path) -> None:
    found = linked(
        tmp_path, "bin/a.rb", 'require_relative "b"\nThing.new\nhelp(1)\nclass A; def f; help(1); end; end\n'
    )
    assert consumed(found, "") == [("use", "bin/b.rb#Thing"), ("call", "bin/b.rb#help")]
    assert consumed(found, "A.f") == []
    many = "".join(f'require_relative "b{number}"\n' for number in range(4))
    assert consumed(linked(tmp_path, "bin/c.rb", f"{many}Thing.new\n"), "") == []
