-- Data that search needs beside the nodes: an inverted index of their texts, and vectors.
--
-- Both are made of parts that are written once and never changed, so that loading never runs at the speed of index
-- maintenance: fresh content is searched as it is, and turned into indexed parts in the background.

CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;

-- The configuration by which a source's texts are split into words and stemmed.
ALTER TABLE source ADD COLUMN language text NOT NULL DEFAULT 'simple';

-- The text configuration of each kind; one that this server lacks counts as 'simple'.
CREATE VIEW text_kind AS
SELECT kind.id AS kind_id, coalesce(config.cfgname::text, 'simple') AS language
FROM kind
JOIN source ON source.id = kind.source_id
LEFT JOIN pg_ts_config AS config ON config.cfgname = source.language AND pg_ts_config_is_visible(config.oid);

-- Put a sign before and after each character that is a word by itself: Chinese characters and Japanese hiragana,
-- which are written without spaces.
CREATE FUNCTION characters_apart(text text, sign text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT regexp_replace(
        text, '([\u3041-\u3096\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFF])',
        sign || '\1' || sign, 'g'
    );
$$;

-- Replace each sign outside ASCII, `\1`: punctuation, currencies, arrows and the like. PostgreSQL takes them for
-- letters.
CREATE FUNCTION punctuation_replaced(text text, instead text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT regexp_replace(
        text,
        '([\u00A0-\u00A9\u00AB\u00AC\u00AE-\u00B1\u00B4\u00B6-\u00B8\u00BB\u00BF\u00D7\u00F7\u037E\u0387'
        '\u055A\u055D\u055F\u0589\u058A\u05BE\u05C0\u05C3\u0606-\u060F\u061B\u061D-\u061F\u066A-\u066D\u06D4'
        '\u0964\u0965\u0970\u104A\u104B\u1361-\u1368\u17D4-\u17D6\u2000-\u200B\u2010-\u205F\u20A0-\u20CF'
        '\u2100\u2101\u2103-\u2106\u2108\u2109\u2114\u2116-\u2118\u211E-\u2123\u2125\u2127\u2129\u212E'
        '\u213A\u213B\u2140-\u2144\u214A-\u214D\u214F\u2190-\u27FF\u2900-\u2BFF\u2E00-\u2E7F\u3000-\u3004\u3008-\u3020'
        '\u3030\u30FB\uFD3E\uFD3F\uFDFC\uFE10-\uFE19\uFE30-\uFE6F\uFF01-\uFF0F\uFF1A-\uFF20\uFF3B-\uFF40\uFF5B-\uFF65'
        '\uFFE0-\uFFE6\uFFE8-\uFFEE\uFFFC\uFFFD])',
        instead, 'g'
    );
$$;

-- Remove the signs by which PostgreSQL would join words, or leave them out: it takes `fmt.Println` for a host
-- name, `src/main.rs` for a file name, and `Promise<Order>` for a tag.
CREATE FUNCTION signs_apart(text text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT punctuation_replaced(
        replace(replace(replace(replace(text, '.', ' '), '/', ' '), '<', ' '), '>', ' '), ' '
    );
$$;

-- Remove characters within a word that are no part of it: soft hyphens and other invisible ones, the Armenian
-- signs over a vowel, and the Cyrillic stress mark. The last is a part of some other letters.
CREATE FUNCTION unmarked(text text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT regexp_replace(
        text,
        '[\u00AD\u055B\u055C\u055E\u200E\u200F\u2060-\u2069\uFE00-\uFE0F\uFEFF]'
        '|(?<=[АЕЁИОУЫЭЮЯЄІЇаеёиоуыэюяєії])\u0301',
        '', 'g'
    );
$$;

-- Prepare a text for PostgreSQL to split into words. Most texts have no character that is a word by itself or
-- stands within one, so that is checked first, for all such characters at once.
CREATE FUNCTION apart(text text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN text ~ '[\u00AD\u0301\u055B-\u055E\u200E\u200F\u2060-\u2069\u3041-\U0003FFFF]'
                THEN characters_apart(signs_apart(unmarked(text)), ' ') ELSE signs_apart(text) END;
$$;

-- The words of a text, for all of search. PostgreSQL refuses a text with too many different words; of such a text,
-- as much of the beginning is searched as it accepts.
CREATE FUNCTION text_words(language text, title text, content text) RETURNS tsvector LANGUAGE plpgsql STABLE AS $$
DECLARE
    longest integer;
BEGIN
    IF octet_length(content) < 100000 AND octet_length(title) < 100000 THEN
        RETURN to_tsvector(language::regconfig, apart(title || ' ' || content));
    END IF;
    FOREACH longest IN ARRAY ARRAY[1000000, 250000, 60000] LOOP
        BEGIN
            RETURN to_tsvector(language::regconfig, apart(left(title || ' ' || content, longest)));
        EXCEPTION WHEN program_limit_exceeded THEN
            NULL;
        END;
    END LOOP;
    RETURN '';
END $$;

-- The queue of the text index: new texts, and indexed texts that are gone. Written with the nodes.
CREATE TABLE text_change (
    text_id     bigint NOT NULL,
    gone        boolean NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.1);
CREATE INDEX text_change_order ON text_change (text_id, gone);

-- A block of the index: up to 65,536 texts of one kind. `texts` are their numbers, 8 bytes each, ascending from
-- `first` to `last`; a text's position among them, from 0, is its ordinal. `lengths` are their numbers of words, 2
-- bytes each, at most 65,535; `words` is their sum. `common` has, text after text, the block's common terms that
-- occur in it, 3 bytes each, little-endian: the term's number (2), its count (1); a text's entries begin at the
-- position that `offsets` has for its ordinal, 4 bytes each, and end where the next one's begin. `dead` has a bit
-- for each text that is gone, the first in the lowest bit, or is empty if none is; dead texts are removed from the
-- rest when the block is merged.
CREATE TABLE text_block (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind_id     integer NOT NULL,
    count       integer NOT NULL,
    words       bigint NOT NULL,
    first       bigint NOT NULL,
    last        bigint NOT NULL,
    dead_count  integer NOT NULL DEFAULT 0,
    dead_words  bigint NOT NULL DEFAULT 0,
    texts       bytea NOT NULL,
    lengths     bytea NOT NULL,
    offsets     bytea NOT NULL,
    common      bytea NOT NULL,
    dead        bytea NOT NULL DEFAULT ''
);
ALTER TABLE text_block ALTER texts SET STORAGE EXTERNAL, ALTER lengths SET STORAGE EXTERNAL,
                       ALTER offsets SET STORAGE EXTERNAL, ALTER common SET STORAGE EXTERNAL,
                       ALTER dead SET STORAGE EXTERNAL;

-- The posting of a term in a block: `count` texts. `entries` has 5 bytes for each, little-endian: ordinal (2), the
-- term's count (1, at most 255), the text's length (2); highest weight first, so that the best are read without
-- the rest. A term whose posting is not always read completely is common in its block, and has a `number` there,
-- from 0. The key begins with the block: so a block is written to the end of the index and deleted from its
-- beginning, however large the index is, and a search looks up its few words in each of the few blocks.
CREATE TABLE posting (
    block_id    bigint NOT NULL,
    term        text COLLATE "C" NOT NULL,
    count       integer NOT NULL,
    number      integer,
    entries     bytea NOT NULL,
    PRIMARY KEY (block_id, term)
) WITH (autovacuum_vacuum_scale_factor = 0.1);
ALTER TABLE posting ALTER entries SET STORAGE EXTERNAL;

-- An embedding model. Search uses the one that is `current`; the one that is `next` is being filled, and replaces
-- it when every passage has a vector of it. `generation` changes whenever the list of its parts does: by it, a
-- process that changes the list knows the writers that still use the previous one.
CREATE TABLE model (
    id          smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider    text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    dimensions  integer NOT NULL CHECK (dimensions > 0),
    role        text COLLATE "C" NOT NULL CHECK (role IN ('current', 'next', 'former')),
    generation  integer NOT NULL DEFAULT 0,
    added_at    timestamptz NOT NULL DEFAULT clock(),
    UNIQUE (provider, name, dimensions)
);
CREATE UNIQUE INDEX model_role ON model (role) WHERE role <> 'former';

-- The approximate time when vectors of a model were last searched: while nobody searches, its indexes are built in
-- the way that is best for loading.
CREATE TABLE search (
    model_id smallint PRIMARY KEY,
    last_at  timestamptz NOT NULL
);

-- A table of vectors of one model, named `name`: the `fresh` one, which is written to and has no index on the
-- vectors; those that are `full`, each of which gets its own index in the background; and those that are
-- `leaving`, because their vectors are being merged into another one. `count` is the number of vectors in the
-- index.
CREATE TABLE vector_part (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_id    smallint NOT NULL REFERENCES model,
    name        text COLLATE "C" NOT NULL UNIQUE
                GENERATED ALWAYS AS ('vector_' || model_id::text || '_' || id::text) STORED,
    role        text COLLATE "C" NOT NULL CHECK (role IN ('fresh', 'full', 'leaving')),
    count       bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX vector_part_fresh ON vector_part (model_id) WHERE role = 'fresh';

-- The cost of embedding in tokens, by the worker that spent them: a budget holds across processes and restarts.
CREATE TABLE spending (
    owner       text NOT NULL,
    provider    text COLLATE "C" NOT NULL,
    tokens      bigint NOT NULL,
    PRIMARY KEY (provider, owner)
);

-- Indexes for filters and suggestions.
CREATE INDEX node_properties ON node USING gin (properties jsonb_path_ops) WHERE properties <> '{}';
CREATE INDEX node_date ON node (((properties ->> 'date') COLLATE "C")) WHERE properties ? 'date';
CREATE INDEX node_title ON node (lower(left(title, 64)) text_pattern_ops) WHERE parent_id IS NULL;
CREATE INDEX node_passage_title ON node (lower(left(title, 64)) text_pattern_ops) WHERE parent_id IS NOT NULL;
