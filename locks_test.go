package magpie_test

import (
	"go/ast"
	"go/types"
	"path"
	"strings"
	"testing"
)

// theLocks is the file that begins the transactions of package db, each with its locks.
const theLocks = "db/locks.go"

// free are the statements that run without a lock, and why they may.
var free = map[string]string{
	"setTurnDraft": "one row, dozens of times in an answer, and nobody decides by it while the turn runs",
}

// Two transactions that read the same before they write would each undo what the other has decided. So each takes its
// locks first, in one order: nothing else in the program begins one.
func TestEveryWriteTakesItsLocksFirst(t *testing.T) {
	p, begun, met := typeCheck(t), 0, map[string]bool{}
	for folder, files := range p.folders {
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					if !beginsTransaction(p.infos[folder].Uses[n], folder) {
					} else if p.names[f] == theLocks {
						begun++
					} else {
						t.Errorf("%s: writes by itself: use a method of %s, which takes the locks", p.set.Position(n.Pos()), theLocks)
					}
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "execFree" && folder == "db" {
						statement, _ := n.Args[1].(*ast.Ident)
						if statement == nil || free[statement.Name] == "" {
							t.Errorf("%s: writes without a lock: say in the test why it may", p.set.Position(n.Pos()))
						} else {
							met[statement.Name] = true
						}
					}
				}
				return true
			})
		}
	}
	if begun < 3 {
		t.Errorf("%s begins %d transactions", theLocks, begun)
	}
	for name := range free {
		if !met[name] {
			t.Errorf("%s does not run without a lock any more: take it off the list", name)
		}
	}
}

// beginsTransaction reports whether a name in a folder is that of an engine's method that writes.
func beginsTransaction(o types.Object, folder string) bool {
	f, ok := o.(*types.Func)
	if !ok || f.Pkg() == nil || f.Name() != "Tx" && f.Name() != "Exec" {
		return false
	}
	of := strings.TrimPrefix(f.Pkg().Path(), "magpie/")
	return path.Dir(of) == "db" && of != folder && folder != "db/cluster" // whose tables have locks of their own
}
