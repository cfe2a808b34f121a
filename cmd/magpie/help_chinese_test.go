package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/alecthomas/kong"

	"magpie/internal/i18n"
)

// Every command and every visible flag is explained in Chinese, and no explanation is obsolete.
func TestTheHelpIsThereInChinese(t *testing.T) {
	unused := map[string]bool{}
	for english := range i18n.HelpInChinese {
		unused[english] = true
	}
	var look func(n *kong.Node)
	check := func(of, help string) {
		if text, ok := i18n.HelpInChinese[help]; help != "" && (!ok || !strings.ContainsFunc(text, isHan)) {
			t.Errorf("%s is not explained in Chinese: %q", of, help)
		}
		delete(unused, help)
	}
	look = func(n *kong.Node) {
		if n.Hidden {
			return
		}
		if n.Parent != nil {
			check(n.FullPath(), n.Help)
		}
		for _, f := range n.Flags {
			if !f.Hidden {
				check("--"+f.Name, f.Help)
			}
		}
		for _, arg := range n.Positional {
			check(arg.Name, arg.Help)
		}
		for _, child := range n.Children {
			look(child)
		}
	}
	look(newParser(t.Context(), &cli{}, i18n.English).Model.Node)
	for english := range unused {
		t.Errorf("the explanation of %q is obsolete", english)
	}
	look = func(n *kong.Node) {
		if !n.Hidden && !strings.ContainsFunc(n.Help, isHan) {
			t.Errorf("%s says %q", n.FullPath(), n.Help)
		}
		for _, child := range n.Children {
			look(child)
		}
	}
	look(newParser(t.Context(), &cli{}, i18n.Chinese).Model.Node)
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }
