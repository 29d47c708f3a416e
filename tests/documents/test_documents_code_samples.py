"""What holds of every language, and the files of all of them with which the parser for code is tested."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from detent.documents.code.languages import name_of
from detent.documents.code.parsing import parse
from detent.documents.parsed import Parsed, Part, Unparsable

PYTHON = '''\
#!/usr/bin/env python
# Copyright of nobody.
"""Shapes and their areas.

They have sides."""

import os.path
import numpy as np
from ..models import Base, measure as measured
from shapes.more import *
import json

LIMIT: int = 3
try:
    import fast
except ImportError:
    fast = None


# Kept in a set.
@dataclass(order=True)
class Shape(Base, Generic[T], metaclass=np.Meta):
    """A shape.

    It has sides.
    """

    sides: int = LIMIT

    @property
    def area(self, scale: np.float64 = LIMIT, *, json=None) -> "int":
        """Its area."""
        json.dumps(1)
        os.path.join("a")

        def rounded(value):
            return measured(value)

        found = rounded(3)
        found.run()
        super().area()
        self.other.run()
        return self.helper(LIMIT)

    async def helper(
        self,
        amount,  # how many
    ):
        import csv

        csv.reader(1)
        fast.go(fast)
        for np in range(3):
            np.sum()
        return [path.name() for path in amount]


def free():
    global LIMIT
    LIMIT = 4
    return Shape.area, json, Shape(LIMIT)


if __name__ == "__main__":
    free().show()
    for line in open("x"):
        line.strip()
'''

JAVASCRIPT = """\
/**
 * The shop: what is sold, and to whom.
 */
import fs, { readFile as read, join } from "node:fs";
import * as money from "./money.js";
import "./polyfill.js";
export { round as rounded } from "./round.js";
export * from "./taxes.js";
const { parse, format: show } = require("./dates");
const log = require("./log").create;

const RATE = 0.19;
let counter = 0;

/** Something with a price. */
export class Item extends money.Priced {
  static count = 0;

  // Called for every new item.
  constructor(name, price) {
    super(price);
    this.name = name;
    this.onChange = () => { counter += 1; };
  }

  total(amount = 1) {
    const read = amount * RATE;
    const item = this;
    item.total();
    read.toFixed(2);
    return this.scaled(amount) + money.add(read, counter);
  }

  handle = (event) => {
    event.stop();
    log("handled", Item.count);
  };
}

/** Makes an item. */
export const make = async (name, { price, unit: size }) => {
  const lazy = await import("./lazy.js");
  lazy.load(size);
  price.check();
  return new Item(name, price);
};

function* all(items) {
  function first() { return items[0]; }
  yield first();
  yield items.map((fs) => fs.total());
}

Item.prototype.sell = function (buyer) {
  return read(buyer, [1].map(show));
};

exports.start = function () { return make("a", { RATE }); };

export default () => all([]);
"""

TYPESCRIPT = """\
import type { Reader } from "./reader";
import path = require("node:path");
import { Injectable, inject } from "./inject";

export enum Level { Low, High }

/** How something is stored. */
export interface Store<T> extends Reader, Base.Closable<T> {
  get(key: string): T;
}

export type Entry<T> = { key: string; value: T; level: Level };

export function open(name: string): Store<string>;
export function open(name: string, level?: Level): Store<string> {
  return new MemoryStore<string>(path.join(name), level ?? Level.Low);
}

declare function legacy(x: number): void;

/** Keeps all in memory. */
@Injectable({ scope: Level.High })
export abstract class MemoryStore<T> extends Cache.Base<T> implements Store<T>, Disposable {
  private entries: Map<string, Entry<T>> = new Map();

  constructor(private readonly root: string, level: Level) {
    super();
  }

  /** Finds one. */
  @inject()
  get(key: string): T {
    const found = this.entries.get(key) as Entry<T>;
    return this.unwrap(found)!;
  }

  protected unwrap = (entry: Entry<T>): T => entry.value;

  abstract close(): void;
}

namespace Names.Of {
  export function valid(name: string): boolean { return check(name); }
}
"""

TSX = """\
import { Card } from "./card";
export const Panel = ({ title }: Props) => <Card title={title}>{render(title)}</Card>;
"""

GO = """\
// Package shop sells things.
package shop

import (
	"fmt"
	str "strings"
	_ "embed"
	. "math"
	"example.org/money/v2"
)

const Rate = 19

var defaults = map[string]int{"a": Rate}

// Item is something with a price.
type Item struct {
	money.Priced
	*Base
	Name string
}

type (
	// Seller sells.
	Seller interface {
		fmt.Stringer
		Sell(item Item) error
	}
	Names []string
)

// Total is the price of so many.
func (i *Item) Total(amount int) (total int) {
	price := i.price(amount)
	price.Round()
	i.seller.Sell(*i)
	fmt.Println(str.ToUpper(i.Name), Rate)
	return money.Add(price, Sqrt(4))
}

func (i Item) price(str int) Item { return Item{Name: defaults} }

// New makes an item.
func New[T any](name T) *Item {
	run := func(fmt string) { fmt.Print() }
	run("x")
	return &Item{}
}
"""

RUST = """\
//! Shapes and their areas.

use std::fmt::{self, Display as Show, Write};
use crate::math::{round::*, sqrt};
pub use super::units;
use serde as _;
extern crate rand as random;
mod colors;

const SIDES: u32 = 4;

/// A shape.
#[derive(Debug, Clone)]
pub struct Shape<T> {
    side: T,
}

pub enum Kind { Round, Square(u32) }

/// What can be measured.
pub trait Measured: Show + fmt::Debug {
    fn area(&self) -> f64;
    fn twice(&self) -> f64 { self.area() * 2.0 }
}

impl<T> Shape<T> {
    /// A new one.
    pub fn new(side: T) -> Self {
        let units = helper(SIDES);
        units.convert();
        Self::check(&side);
        println!("{}", describe(1));
        Shape { side }
    }
}

impl<T: Copy> Measured for Shape<T> {
    fn area(&self) -> f64 {
        match self.kind() { Kind::Square(sqrt) => sqrt.abs(), _ => sqrt(2.0) }
    }
}

impl fmt::Display for Shape<f64> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { Vec::<u8>::new(); random::thread_rng() }
}

fn helper(n: u32) -> u32 { units::of(n) }

macro_rules! square { ($x:expr) => { $x * $x }; }

mod inner {
    pub fn deep() { super::helper(1); }
}
"""

JAVA = """\
package org.example.shop;

import java.util.List;
import org.example.money.*;
import static org.example.Checks.notNull;
import static org.example.Rates.*;

/**
 * Something with a price.
 */
@Entity(name = "item")
public class Item<T> extends Priced<T> implements Sellable, money.Taxed<T> {
    private final List<T> parts = List.of();
    private static final Logger log = Logger.of(Item.class);

    /** Makes one. */
    public Item(String name) {
        super(name);
        notNull(name);
    }

    @Override
    public int total(int amount, T... others) throws NoPrice {
        log.info("total");
        Amount sum = new Amount<>(amount);
        sum.add(1);
        for (T part : parts) { part.price(); }
        this.check(amount);
        super.total(amount);
        others.forEach(List::of);
        return round(Amounts.of(sum));
    }

    public int total() { return total(1); }

    enum State { NEW, SOLD; boolean open() { return this == NEW; } }
}

interface Sellable extends Thing, Owned { void sell(Item<?> item); }

record Pair(Item left, Item right) implements Sellable { Pair { notNull(left); } }
"""

C = """\
/* Points and how far they are from each other. */

#include <math.h>
#include "geometry/point.h"

#define SQUARE(x) ((x) * (x))
#define LIMIT 10

typedef struct {
    double x, y;
} Point;

struct line { Point from; Point to; };

enum color { RED, GREEN };

static int counter = 0;

double distance(const Point *a, const Point *b);

/**
 * How far two points are apart.
 */
double distance(const Point *a, const Point *b)
{
    double dx = a->x - b->x;
    counter++;
    return sqrt(SQUARE(dx) + LIMIT);
}

// All of them.
static char **names(struct line *line, int (*visit)(Point))
{
    visit(line->from);
    print_color(RED);
    return collect(line);
}

void declared_only(int n);
"""

CPP = """\
// Shapes.

#include <vector>
#include "shape.hpp"

namespace geo::flat {

const int kSides = 4;

/// A shape.
template <typename T>
class Square : public Shape<T>, private detail::Counted {
 public:
  explicit Square(T side) : side_(side) {}
  ~Square();

  /// Its area.
  T area() const override {
    helper.run();
    this->check();
    return base::multiply<T>(side_, kSides);
  }

  class Inner { void go() {} };

 private:
  T side_;
  Helper* helper;
};

enum class Color : int { Red };

namespace {
int hidden(int value) { return value; }
}

}  // namespace geo::flat

template <typename T>
geo::flat::Square<T>::~Square() { release(); }

bool operator==(const Point& a, const Point& b) { return a.same(b) && hidden(1); }

std::unique_ptr<Shape> make(Kind kind) {
  auto shape = std::make_unique<Square>(1);
  shape->area();
  for (auto& part : shape->parts()) part.draw();
  return new geo::Circle(kSides);
}
"""

RUBY = """\
# frozen_string_literal: true

# Things that are sold.

require "json"
require_relative "money"
require_relative "../base"

LIMIT = 10

module Shop
  # Something with a price.
  class Item < Money::Priced
    include Comparable
    extend Shop::Finders

    # Makes one.
    def initialize(name, price: LIMIT, *rest, &block)
      @name = name
      total = rest.sum
      total.round
      block.call
      check!
      self.register(name)
    end

    def self.build(name)
      Item.new(name).save
      JSON.parse(name)
    end

    class << self
      def all; end
    end

    def check!
      rest = helper
      [1].each { |json| json.run }
    end

    def <=>(other) = 0
  end
end

def helper
  Shop::Item.build("x")
end

helper
"""

SAMPLES = {
    "sample.py": PYTHON,
    "sample.js": JAVASCRIPT,
    "sample.ts": TYPESCRIPT,
    "sample.tsx": TSX,
    "sample.go": GO,
    "sample.rs": RUST,
    "sample.java": JAVA,
    "sample.c": C,
    "sample.cpp": CPP,
    "sample.rb": RUBY,
}
"""By the name of the file."""


def read(name: str, text: str | None = None) -> Parsed:
    return parse((SAMPLES[name] if text is None else text).encode(), name)


def uses(parsed: Parsed, kind: str) -> set[tuple[str, str]]:
    """The names that are used in a way, each with the part that does it."""
    return {(use.name, use.part) for use in parsed.uses if use.kind == kind}


def imports(parsed: Parsed) -> list[tuple[str, str, str]]:
    return [(found.module, found.name, found.alias) for found in parsed.imports]


def part(parsed: Parsed, key: str) -> Part:
    return next(part for part in parsed.parts if part.key == key)


def kinds(parsed: Parsed) -> dict[str, str]:
    return {part.key: part.properties["kind"] for part in parsed.parts}


def _line_of(text: str, piece: str) -> int:
    return text[: text.index(piece)].count("\n") + 1


def _texts(parts: Iterable[Part]) -> dict[str, str]:
    return {part.key: part.text for part in parts}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sound_file_has_no_problems_and_is_of_its_language(name: str) -> None:
    parsed = read(name)
    assert parsed.problems == []
    assert parsed.kind == name_of(name.partition(".")[2])
    assert parsed.title == ""


@pytest.mark.parametrize("name", SAMPLES)
def test_keys_are_unique_and_parents_come_before_what_is_in_them(name: str) -> None:
    seen = {""}
    for found in read(name).parts:
        assert found.label == "Scope"
        assert found.key not in seen
        assert found.parent in seen
        seen.add(found.key)


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_in_a_part_lies_within_its_lines(name: str) -> None:
    parsed = read(name)
    lines = {found.key: (found.first, found.last) for found in parsed.parts}
    lines[""] = (1, SAMPLES[name].count("\n") + 1)
    for found in parsed.parts:
        assert lines[found.parent][0] <= found.first <= found.last <= lines[found.parent][1]


@pytest.mark.parametrize("name", SAMPLES)
def test_every_word_of_a_file_is_in_one_text(name: str) -> None:
    parsed = read(name)
    words = sorted("\n".join([parsed.text, *(found.text for found in parsed.parts)]).split())
    assert "".join(sorted("".join(words))) == "".join(sorted("".join(SAMPLES[name].split())))


@pytest.mark.parametrize("name", SAMPLES)
def test_uses_are_told_once_and_stand_in_parts_that_there_are(name: str) -> None:
    parsed = read(name)
    told = [(use.kind, use.name, use.part) for use in parsed.uses]
    assert len(told) == len(set(told))
    assert {use.part for use in parsed.uses} <= {"", *(found.key for found in parsed.parts)}
    assert {use.kind for use in parsed.uses} <= {"call", "inherit", "use"}


@pytest.mark.parametrize("name", SAMPLES)
def test_with_other_line_ends_a_file_is_the_same(name: str) -> None:
    assert read(name, SAMPLES[name].replace("\n", "\r\n")) == read(name)


@pytest.mark.parametrize("name", SAMPLES)
def test_when_lines_are_put_before_a_file_only_numbers_of_lines_change(name: str) -> None:
    before, after = read(name), read(name, "\n\n" + SAMPLES[name])
    assert _texts(before.parts) == _texts(after.parts)
    assert [(found.first + 2, found.last + 2) for found in before.parts] == [
        (found.first, found.last) for found in after.parts
    ]


@pytest.mark.parametrize(
    ("name", "key", "old", "new"),
    [
        ("sample.py", "Shape.helper", "csv.reader(1)", "csv.writer(1, 2)"),
        ("sample.js", "Item.total", "read.toFixed(2);", "read.toFixed(3); return 1;"),
        ("sample.ts", "MemoryStore.get", "this.entries.get(key)", "this.entries.find(key)"),
        ("sample.go", "Item.Total", "price.Round()", "price.Floor()"),
        ("sample.rs", "Shape.new", "units.convert();", "units.keep();"),
        ("sample.java", "Item.total", "sum.add(1);", "sum.add(2);"),
        ("sample.c", "names", "print_color(RED);", "print_color(GREEN);"),
        ("sample.cpp", "geo.flat.Square.area", "helper.run();", "helper.stop();"),
        ("sample.rb", "Shop.Item.check!", "[1].each", "[2].each"),
    ],
)
def test_editing_one_scope_changes_only_its_own_text(name: str, key: str, old: str, new: str) -> None:
    before, after = read(name), read(name, SAMPLES[name].replace(old, new))
    changed = {found for found, text in _texts(after.parts).items() if _texts(before.parts)[found] != text}
    assert changed == {key}
    assert after.text == before.text


def test_adding_a_method_leaves_the_text_of_its_class_as_it_was() -> None:
    added = PYTHON.replace("    async def helper(", "    def one_more(self):\n        pass\n\n    async def helper(")
    before, after = _texts(read("sample.py").parts), _texts(read("sample.py", added).parts)
    assert after.pop("Shape.one_more") == "def one_more(self):\n        pass"
    assert before == after


@pytest.mark.parametrize(
    ("name", "key", "first"),
    [
        ("sample.py", "Shape", "# Kept in a set."),
        ("sample.js", "Item", "/** Something with a price. */"),
        ("sample.ts", "MemoryStore.get", "/** Finds one. */"),
        ("sample.rs", "Shape", "/// A shape."),
        ("sample.cpp", "geo.flat.Square", "/// A shape."),
    ],
)
def test_a_scope_begins_with_what_stands_above_it(name: str, key: str, first: str) -> None:
    found = part(read(name), key)
    assert found.text.startswith(first)
    assert found.first == _line_of(SAMPLES[name], first)


def test_a_file_of_no_language_is_refused_with_a_sentence() -> None:
    with pytest.raises(Unparsable, match=r"^Files that end like notes\.txt are not read as code\.$"):
        parse(b"x", "notes.txt")


def test_endings_are_those_of_the_languages_in_small_letters() -> None:
    assert parse(b"x = 1", "SETUP.PY").kind == "python"
    assert name_of("mjs") == name_of("cjs") == name_of("jsx") == "javascript"
    assert name_of("tsx") == name_of("mts") == "typescript"
    assert name_of("h") == "c"
    assert name_of("hh") == name_of("cxx") == name_of("cc") == "cpp"
