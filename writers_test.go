package magpie_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// theWriter is the file that stores what package convo has decided about a chat.
const theWriter = "db/turn_chat.go"

// theCopier is the file that copies rows as they are, into a database that nobody serves, whatever their table.
const theCopier = "db/copy_targets.go"

// decided are the columns of the tables that hold a [convo.Chat], and so what is decided about it.
var decided = map[string][]string{
	"turns": {"id", "chat_key", "epoch", "state", "failure", "created_at", "started_at", "due_at", "attempts", "stopped",
		"acted", "continues", "follows", "reply_to"},
	"steers":    {"turn_id", "chat_key", "seq", "prompt_id", "is_read"},
	"approvals": {"id", "turn_id", "needed_by", "state", "delivered"},
}

// besides are the statements that only set columns of these tables about which nothing is decided.
var besides = map[string]string{
	"beginClaimed":       "session and prompt of a turn that was claimed",
	"inSessionOf":        "the session of a follow-up, which its agent goes on with",
	"renameTurn":         "the session that the CLI has begun",
	"setTurnCard":        "the card, as soon as it is posted",
	"setTurnDraft":       "at the speed of drawing",
	"setNewestButtons":   "where buttons are that go when a newer card follows",
	"importTurn":         "the session in which a turn has happened without this program",
	"forgetPastSessions": "a session that holds what was taken back",
	"describeApproval":   "what people are asked",
	"describeSettlement": "who has decided, and in which words",
	"repeatApproval":     "when people were reminded",
	"setApprovalCard":    "the card of a request",
	"countContinued":     "how often a decision that has reached no agent made a turn go on",
}

// guests are the statements that still decide by themselves, or that concern nothing that waits. A guest that moves to
// package convo leaves the list; nothing new joins it.
var guests = map[string]string{
	"takeBack":        "an approval whose agent was told, and could not use it, is over already",
	"forgetApprovals": "deletes old decisions",
	"cancelQueued":    "what waits in a chat that the bot has left is ended by SQL",
	"readdressTurn":   "the platform has taken back what a turn replies to: the outbox asks for another address",
	"endTurn":         "why a turn has ended, which is also asked when people decide about it",
	"takeUp":          "turns of a conversation that was ended and is taken up again",
}

// What becomes of turns, of what is handed to their agents and of what people are asked is decided by package convo and
// stored by one file. The rest of the program may only set columns of which nothing is decided.
func TestNothingElseWritesTurns(t *testing.T) {
	met, stored := map[string]bool{}, map[string]bool{}
	for _, w := range writes(t) {
		columns, isTurns := decided[w.table]
		switch {
		case w.file == theCopier || w.file == "db/copy_tables.go":
		case !regexp.MustCompile(`^\w+$`).MatchString(w.table):
			t.Errorf("%s: %s does not name its table: %s", w.file, w.name, w.text)
		case !isTurns:
		case w.file == theWriter:
			stored[w.table] = true
		case besides[w.name] != "":
			met[w.name] = true
			for _, c := range w.sets {
				if slices.Contains(columns, c) {
					t.Errorf("%s: %s sets %s of %s, which is decided: %s", w.file, w.name, c, w.table, w.text)
				}
			}
			if w.sets == nil {
				t.Errorf("%s: %s does more than set columns of %s: %s", w.file, w.name, w.table, w.text)
			}
		case guests[w.name] != "":
			met[w.name] = true
		default:
			t.Errorf("%s: %s writes %s: let package convo decide, and %s store it: %s",
				w.file, w.name, w.table, theWriter, w.text)
		}
	}
	for _, list := range []map[string]string{besides, guests} {
		for name := range list {
			if !met[name] {
				t.Errorf("%s writes none of these tables any more: take it off the list", name)
			}
		}
	}
	for table := range decided {
		if !stored[table] {
			t.Errorf("%s does not write %s", theWriter, table)
		}
	}
}

// write is a statement that changes a table.
type write struct {
	file, name, table, text string
	sets                    []string // columns; nil = it adds or deletes rows
}

var (
	// a statement whose table is put in when the program runs ends before it, or has a verb of package fmt there
	writing = regexp.MustCompile(`(?i)\b(?:INSERT(?:\s+OR\s+\w+)?\s+INTO|REPLACE\s+INTO|DELETE\s+FROM)\s+([^\s(;]*)|` +
		`\b(UPDATE)(?:\s+OR\s+\w+)?\s+(\S+)(?:\s+(?:NOT\s+)?INDEXED(?:\s+BY\s+\w+)?|(?:\s+AS)?\s+\w+)?\s+SET\b|` +
		`(?-i:\bUPDATE\s*$)`)
	// reads rows that nobody else may write meanwhile
	locking = regexp.MustCompile(`(?i)\bFOR (?:NO KEY )?UPDATE\b`)
	inner   = regexp.MustCompile(`\([^()]*\)`)
	spaces  = regexp.MustCompile(`\s+`)
)

// writes lists the statements in the constants of the program, put together as the compiler does, each with the name of
// the constant, or of the function that it stands in.
func writes(t *testing.T) (list []write) {
	t.Helper()
	p := typeCheck(t)
	for folder, files := range p.folders {
		for _, f := range files {
			for _, d := range f.Decls {
				list = append(list, writesOf(p.names[f], d, *p.infos[folder])...)
			}
		}
	}
	return list
}

// writesOf lists the statements of a declaration.
func writesOf(file string, d ast.Decl, info types.Info) (list []write) {
	function, isFunction := d.(*ast.FuncDecl)
	name := ""
	if isFunction {
		name = function.Name.Name
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if !isFunction {
				name = n.Names[0].Name
			}
		case ast.Expr:
			if v := info.Types[n].Value; v != nil && v.Kind() == constant.String {
				if _, seen := n.(*ast.Ident); !seen { // a name: its value stands elsewhere
					list = append(list, writesIn(file, name, constant.StringVal(v))...)
				}
				return false
			}
		}
		return true
	})
	return list
}

func writesIn(file, name, text string) (list []write) {
	text = locking.ReplaceAllString(spaces.ReplaceAllString(text, " "), "")
	for _, at := range writing.FindAllStringIndex(text, -1) {
		m := writing.FindStringSubmatch(text[at[0]:])
		w := write{file: file, name: name, table: m[1] + m[3], text: text[at[0]:]}
		if m[2] != "" {
			w.sets = columnsSet(w.text)
		}
		list = append(list, w)
	}
	return list
}

// columnsSet lists the columns that an UPDATE sets.
func columnsSet(text string) (list []string) {
	for inner.MatchString(text) {
		text = inner.ReplaceAllString(text, "")
	}
	_, text, _ = strings.Cut(text, " SET ")
	text, _, _ = strings.Cut(text, " WHERE ")
	for column := range strings.SplitSeq(text, ",") {
		name, _, _ := strings.Cut(column, "=")
		list = append(list, strings.TrimSpace(name))
	}
	return list
}

// However a statement is written, it is found.
func TestWritesAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT state FROM turns WHERE updated = 1":                               "[]",
		"INSERT INTO turns (id) VALUES (1)":                                       "[turns[]]",
		"insert or ignore into steers(id) SELECT 1":                               "[steers[]]",
		"REPLACE INTO\n\tturns VALUES (1)":                                        "[turns[]]",
		"WITH a AS (SELECT 1) DELETE FROM turns":                                  "[turns[]]",
		"UPDATE turns INDEXED BY turns_open SET a = (SELECT b, c), d = 1 WHERE 1": "[turns[a d]]",
		"UPDATE OR FAIL turns AS t\nSET a = CASE WHEN b = 1 THEN 2 ELSE c END":    "[turns[a]]",
		"INSERT INTO x VALUES (1) ON CONFLICT DO UPDATE SET a = 1":                "[x[]]",
		"DELETE FROM a; UPDATE b SET c = 1":                                       "[a[] b[c]]",
		"UPDATE %s SET a = 1":                                                     "[%s[a]]",
		"SELECT 1 FROM a FOR NO KEY UPDATE":                                       "[]",
		"DELETE FROM ":                                                            "[[]]",
		"UPDATE ":                                                                 "[[]]",
		"this program needs an update":                                            "[]",
	} {
		got := []string{}
		for _, w := range writesIn("", "", text) {
			got = append(got, w.table+fmt.Sprint(w.sets))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
