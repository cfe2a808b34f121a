package db

// The statements of this package are in words that both engines understand, and number their parameters as SQLite does:
// ?1. Here are the few for which they have no word in common. [wordsOfPostgres] has PostgreSQL's for each.
const (
	// nextChat is the number of a new chat.
	nextChat = `(SELECT COALESCE(MAX(no), 0) + 1 FROM chats)`

	// nextTurn is the number of the next turn. PostgreSQL gives numbers out of order to chats that write at the same time,
	// so it says which one only to a turn that is stored, see [DB.numberTurns].
	nextTurn = `COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'turns'), 0) + 1`

	// nextPostID puts a post behind all others.
	nextPostID = `(SELECT MAX(id) + 1 FROM outbox)`

	// rowName names a row to operators, who may look at it with a statement.
	rowName       = `CAST(rowid AS TEXT)`
	rowNameOfPost = `CAST(o.rowid AS TEXT)`

	overwrite      = `PRAGMA secure_delete = ON`
	overwriteEnded = `PRAGMA secure_delete = OFF`
)

// unnumbered is the number of turns that are not stored yet, and that get theirs by [takeTurn].
const unnumbered = 1 << 62

const takeTurn = `SELECT nextval('turns_numbers')`

// wordsOfPostgres are what PostgreSQL understands in place of SQLite's words. Nothing: it has no need of such a statement.
var wordsOfPostgres = map[string]string{
	nextChat:       `nextval('chats_numbers')`,
	nextTurn:       `4611686018427387904`,
	nextPostID:     `nextval('outbox_id_seq')`,
	overwrite:      ``,
	overwriteEnded: ``,
	firstTurn:      ``,
	laterTurn:      `SELECT setval('turns_numbers', GREATEST(?1, last_value)) FROM turns_numbers`,

	rowName:       `CAST(ctid AS TEXT)`,
	rowNameOfPost: `CAST(o.ctid AS TEXT)`,

	// All numbers are numbers here.
	selectTables: `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()
		AND table_name NOT LIKE 'goose_%' AND table_name NOT IN ('postings', 'indexed') ORDER BY table_name`,
	selectNumbers: `SELECT '' WHERE ?1 = ''`,
	selectKeys: `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ?1
		AND (column_name = 'chat_key' OR ?1 = 'chats' AND column_name = 'key') AND ?1 <> 'grants'`,

	hasCopying: `SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'copying'`,
	selectCopied: `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT LIKE 'goose_%'
		AND tablename NOT IN ('postings', 'indexed', 'copying', 'nodes', 'leases', 'forwarded') ORDER BY tablename`,
	selectColumns: `SELECT a.attname, format_type(a.atttypid, NULL), COALESCE(array_position(i.indkey::int2[], a.attnum) + 1, 0)
		FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
		WHERE a.attrelid = to_regclass(quote_ident(?1)) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attname`,
	selectGiven: `SELECT regexp_replace(sequencename, '_(id_seq|numbers)$', ''), MAX(COALESCE(last_value, 0))
		FROM pg_sequences WHERE schemaname = current_schema() GROUP BY 1`,

	// The row of a message in SQLite's index names its chat and its seq, see [indexRow].
	findTerms: `SELECT (SELECT string_agg(seq::text, ' ' ORDER BY seq DESC) FROM (SELECT seq FROM postings
		WHERE chat = ?2::bigint >> 32 AND term = btrim(list.value, '"') AND seq >= ?3 ORDER BY seq DESC LIMIT ?4) AS newest)
		FROM json_each(?1) list ORDER BY list.key::bigint`,
	findWords: `SELECT seq FROM postings WHERE chat = ?2::bigint >> 32 AND term = ANY(string_to_array(btrim(?1, '"'), '" "'))
		GROUP BY seq HAVING COUNT(*) = (SELECT COUNT(DISTINCT term) FROM unnest(string_to_array(btrim(?1, '"'), '" "')) term)
		ORDER BY seq DESC LIMIT ?3`,
	notIndexed: `SELECT ` + messageColumns + ` FROM messages WHERE chat_key = ?1 AND FALSE`,
}

// locksOfPostgres are its locks of what belongs to no chat, and of rows. What refers to a chat's row may be inserted
// meanwhile: that needs the key only, which never changes.
var locksOfPostgres = lockWords{
	name: `SELECT pg_advisory_xact_lock(hashtextextended(?1, 0))`,
	chat: `SELECT key FROM chats WHERE key = ?1 FOR NO KEY UPDATE`,
	room: `SELECT key FROM chats WHERE key = ?1 OR key > ?1 || ':thread:' AND key < ?1 || ':thread;'
		ORDER BY key FOR NO KEY UPDATE`,
}
