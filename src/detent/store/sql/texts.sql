-- The index of texts: the queue of changes, blocks and their postings, and the reads of a search.

-- name: try_lock_texts
-- One program at a time changes the blocks; nobody waits for the lock.
SELECT pg_try_advisory_xact_lock(%(lock)s) AS locked;

-- name: take_text_changes
-- Take changes from the queue, the oldest texts first, until their texts together are large. A new text is always
-- taken before the news that it is gone.
WITH next AS MATERIALIZED (
    SELECT ctid AS place, text_id, gone FROM text_change ORDER BY text_id, gone LIMIT %(limit)s
),
sized AS (
    SELECT next.place, next.text_id, next.gone,
           CASE WHEN next.gone THEN 0
                ELSE least(coalesce(octet_length(node.title) + octet_length(node.text), 0), 4000000) END AS size
    FROM next LEFT JOIN node ON node.text_id = next.text_id
),
summed AS (
    SELECT place, sum(size) OVER (ORDER BY text_id, gone ROWS UNBOUNDED PRECEDING) - size AS before FROM sized
)
DELETE FROM text_change
WHERE ctid = ANY (ARRAY (SELECT place FROM summed WHERE before < %(bytes)s))
RETURNING text_id, gone;

-- name: texts_to_index
-- New texts; for long ones, their words as PostgreSQL reads them. Texts that are gone already are left out.
SELECT item.kind_id, node.text_id, text_kind.language,
       CASE WHEN size.bytes < %(long)s THEN node.title || ' ' || node.text END AS content,
       CASE WHEN size.bytes >= %(long)s THEN tsvectorsend(text_words(text_kind.language, node.title, node.text)) END
           AS vector
FROM unnest(%(texts)s::bigint[]) AS new (text_id)
JOIN node ON node.text_id = new.text_id
JOIN item ON item.id = node.item_id
JOIN text_kind ON text_kind.kind_id = item.kind_id
CROSS JOIN LATERAL (SELECT octet_length(node.title) + octet_length(node.text) AS bytes) AS size
ORDER BY node.text_id;

-- name: word_vectors
-- The lexemes of words, in the order of the words.
SELECT tsvectorsend(text_words(%(language)s, '', asked.word)) AS vector
FROM unnest(%(words)s::text[]) WITH ORDINALITY AS asked (word, number) ORDER BY asked.number;

-- name: write_text_block
-- Add a block, without its postings.
INSERT INTO text_block (kind_id, count, words, first, last, texts, lengths, offsets, common)
VALUES (%(kind)s, %(count)s, %(words)s, %(first)s, %(last)s, %(texts)s, %(lengths)s, %(offsets)s, %(common)s)
RETURNING id;

-- name: write_postings
-- Write a block's postings, whose entries come in a row.
INSERT INTO posting (block_id, term, count, number, entries)
SELECT %(block)s, line.term, line.count, nullif(line.number, -1),
       substring(%(entries)s::bytea FROM 1 + 5 * line.before FOR 5 * line.count)
FROM unnest(%(terms)s::text[], %(counts)s::integer[], %(numbers)s::integer[], %(befores)s::integer[])
     AS line (term, count, number, before);

-- name: text_blocks_between
-- The blocks that may have texts with numbers in this range.
SELECT id FROM text_block WHERE first <= %(last)s AND last >= %(first)s ORDER BY id;

-- name: text_block
-- A block's texts.
SELECT count, texts, lengths, dead FROM text_block WHERE id = %(block)s;

-- name: mark_text_block
-- Record which of a block's texts are dead.
UPDATE text_block SET dead = %(dead)s, dead_count = %(dead_count)s, dead_words = %(dead_words)s WHERE id = %(block)s;

-- name: text_block_sizes
-- The size of each block, and of its dead part.
SELECT id, kind_id, count, words, dead_count, dead_words FROM text_block ORDER BY id;

-- name: packed_postings
-- All postings of a block in one row, in the order of their terms.
SELECT coalesce(string_agg(convert_to(term, 'UTF8') || '\x00'::bytea, ''::bytea ORDER BY term), '') AS terms,
       coalesce(string_agg(int4send(count), ''::bytea ORDER BY term), '') AS counts,
       coalesce(string_agg(entries, ''::bytea ORDER BY term), '') AS entries
FROM posting WHERE block_id = %(block)s;

-- name: drop_text_blocks
-- Delete blocks that were merged into another.
WITH gone AS (DELETE FROM posting WHERE block_id = ANY (%(blocks)s::bigint[]))
DELETE FROM text_block WHERE id = ANY (%(blocks)s::bigint[]);

-- name: anything_to_search
-- True if there is a text, or a model that texts were embedded with.
SELECT EXISTS (SELECT FROM text_change) OR EXISTS (SELECT FROM text_block) OR EXISTS (SELECT FROM model) AS found;

-- name: text_pending
-- The number of texts waiting to be indexed, counted up to `most`.
SELECT count(*) AS count FROM (SELECT FROM text_change WHERE NOT gone ORDER BY text_id LIMIT %(most)s) AS waiting;

-- name: text_statistics
-- The size of the index.
SELECT count(*) AS blocks, coalesce(sum(count), 0)::bigint AS texts, coalesce(sum(words), 0)::bigint AS words,
       coalesce(sum(dead_count), 0)::bigint AS dead_texts, coalesce(sum(dead_words), 0)::bigint AS dead_words
FROM text_block;

-- name: text_question
-- The lexemes of each part of a query in each language of the texts, the condition that a text has it as a phrase,
-- and the kinds of the language.
SELECT spoken.language, spoken.kinds, part.text,
       tsvector_to_array(to_tsvector(spoken.language::regconfig, apart(part.text))) AS lexemes,
       phraseto_tsquery(spoken.language::regconfig, apart(part.text))::text AS condition
FROM (SELECT language, array_agg(kind_id) AS kinds FROM text_kind GROUP BY language) AS spoken
CROSS JOIN unnest(%(parts)s::text[]) AS part (text);

-- name: text_blocks
-- All blocks, for the counts of the whole collection; and their dead texts.
SELECT id, kind_id, count, words, first, last, dead_count, dead_words, dead FROM text_block ORDER BY id;

-- name: posting_counts
-- The number of texts in each block with each of these terms, and the term's number there if it is common.
SELECT block.id AS block, wanted.number::integer AS term, posting.count, posting.number
FROM text_block AS block
CROSS JOIN unnest(%(terms)s::text[]) WITH ORDINALITY AS wanted (term, number)
JOIN posting ON posting.block_id = block.id AND posting.term = wanted.term;

-- name: posting_entries
-- Slices of postings, each from one entry up to, not including, another.
SELECT slice.number::integer AS number,
       substring(posting.entries FROM 1 + 5 * slice.start FOR 5 * (slice.stop - slice.start)) AS entries
FROM unnest(%(blocks)s::bigint[], %(terms)s::text[], %(starts)s::integer[], %(stops)s::integer[])
     WITH ORDINALITY AS slice (block_id, term, start, stop, number)
JOIN posting ON posting.block_id = slice.block_id AND posting.term = slice.term
ORDER BY slice.number;

-- name: texts_waiting
-- The newest texts that are not indexed yet, up to a limit. `near`: the newer texts have no more than this many
-- bytes together.
WITH newest AS MATERIALIZED (
    SELECT text_id FROM text_change WHERE NOT gone ORDER BY text_id DESC LIMIT %(most)s
),
sized AS (
    SELECT newest.text_id, least(coalesce(octet_length(node.title) + octet_length(node.text), 0), 4000000) AS size
    FROM newest LEFT JOIN node ON node.text_id = newest.text_id
)
SELECT text_id, sum(size) OVER (ORDER BY text_id DESC ROWS UNBOUNDED PRECEDING) - size < %(bytes)s AS near FROM sized;

-- name: texts_of_items
-- The texts of these items, and their sizes.
SELECT node.text_id, octet_length(node.title) + octet_length(node.text) AS size
FROM unnest(%(items)s::bigint[]) AS wanted (item_id) JOIN node ON node.item_id = wanted.item_id;

-- name: text_block_numbers
-- The numbers of all texts of a block.
SELECT texts FROM text_block WHERE id = %(block)s;

-- name: texts_at
-- The numbers of the texts at these places.
SELECT place.number::integer AS number, substring(text_block.texts FROM 1 + 8 * place.ordinal FOR 8) AS text
FROM unnest(%(blocks)s::bigint[], %(ordinals)s::integer[]) WITH ORDINALITY AS place (block_id, ordinal, number)
JOIN text_block ON text_block.id = place.block_id
ORDER BY place.number;

-- name: common_terms_at
-- The lengths of the texts at these places, and the counts of the common terms of their blocks in them. The two
-- numbers of `offsets` are read byte by byte, because PostgreSQL's function for that is newer than some supported
-- versions.
SELECT place.number::integer AS number,
       substring(text_block.lengths FROM 1 + 2 * place.ordinal FOR 2) AS length,
       substring(text_block.common FROM 1 + 3 * span.start FOR 3 * (span.stop - span.start)) AS terms
FROM unnest(%(blocks)s::bigint[], %(ordinals)s::integer[]) WITH ORDINALITY AS place (block_id, ordinal, number)
JOIN text_block ON text_block.id = place.block_id
CROSS JOIN LATERAL (
    SELECT substring(text_block.offsets FROM 1 + 4 * place.ordinal FOR 8) AS bytes OFFSET 0
) AS two
CROSS JOIN LATERAL (
    SELECT get_byte(two.bytes, 0) + (get_byte(two.bytes, 1) << 8) + (get_byte(two.bytes, 2) << 16)
               + (get_byte(two.bytes, 3) << 24) AS start,
           get_byte(two.bytes, 4) + (get_byte(two.bytes, 5) << 8) + (get_byte(two.bytes, 6) << 16)
               + (get_byte(two.bytes, 7) << 24) AS stop
    OFFSET 0
) AS span
ORDER BY place.number;

-- name: judge_texts
-- The texts that still exist, with their items: whether each meets the query, and the words of those to be
-- counted.
WITH read AS MATERIALIZED (
    SELECT asked.number, node.item_id, item.kind_id, node.text_id, kind.condition, asked.counted,
           CASE WHEN asked.counted OR kind.condition <> ''
                THEN text_words(kind.language, node.title, node.text) END AS words
    FROM unnest(%(texts)s::bigint[], %(counted)s::boolean[]) WITH ORDINALITY AS asked (text_id, counted, number)
    JOIN node ON node.text_id = asked.text_id
    JOIN item ON item.id = node.item_id
    JOIN unnest(%(kinds)s::integer[], %(languages)s::text[], %(conditions)s::text[])
         AS kind (id, language, condition) ON kind.id = item.kind_id
)
SELECT item_id, kind_id, text_id,
       CASE WHEN condition = '' THEN true ELSE words @@ condition::tsquery END AS wanted,
       CASE WHEN counted THEN tsvectorsend(words) END AS vector
FROM read ORDER BY number;

-- name: text_snippets
-- The passage of each item's text that matches, with marks, and the text's beginning. In a long text, the
-- surroundings of the first match are used; an item without text is shown by its title. Signs that would join
-- words are replaced meanwhile.
SELECT node.item_id, left(shown.text, 400) AS beginning,
       translate(
           ts_headline(text_kind.language::regconfig, split.content,
                       websearch_to_tsquery(text_kind.language::regconfig, apart(%(wanted)s)), %(options)s),
           chr(1) || chr(2) || chr(3) || chr(4) || chr(5), './<>'
       ) AS snippet
FROM unnest(%(items)s::bigint[]) AS wanted (item_id)
JOIN node ON node.item_id = wanted.item_id
JOIN item ON item.id = node.item_id
JOIN text_kind ON text_kind.kind_id = item.kind_id
CROSS JOIN LATERAL (SELECT CASE WHEN node.text = '' THEN node.title ELSE node.text END AS text OFFSET 0) AS shown
CROSS JOIN LATERAL (
    SELECT CASE WHEN octet_length(shown.text) <= %(window)s THEN shown.text
                ELSE substr(shown.text, greatest(1, coalesce((
                    SELECT min(found) FROM unnest(%(words)s::text[]) AS word,
                           strpos(lower(left(shown.text, %(reach)s)), word) AS found WHERE found > 0
                ), 1) - 300), %(window)s) END AS content
    OFFSET 0
) AS place
CROSS JOIN LATERAL (
    SELECT characters_apart(punctuation_replaced(
        translate(place.content, './<>' || %(marks)s, chr(1) || chr(2) || chr(3) || chr(4)), chr(5) || '\1' || chr(5)
    ), chr(5)) AS content
    OFFSET 0
) AS split;
