package feishusim

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	gmtext "github.com/yuin/goldmark/text"
)

// commonMark parses Markdown. The platform's own parser is not documented; this one is strict about what is code and
// what is a link.
var commonMark = goldmark.DefaultParser()

// oddLink finds a link in Markdown that does not lead to the web, and returns its target; ok = there is none.
func oddLink(md string) (target string, ok bool) {
	ok = true
	if !strings.ContainsAny(md, "[<") {
		return "", true
	}
	source := []byte(md)
	_ = ast.Walk(commonMark.Parse(gmtext.NewReader(source)), func(n ast.Node, _ bool) (ast.WalkStatus, error) {
		var href string
		switch n := n.(type) {
		case *ast.Link:
			href = string(n.Destination)
		case *ast.AutoLink:
			href = string(n.URL(source))
		default:
			return ast.WalkContinue, nil
		}
		if !leadsToWeb(href) {
			target, ok = href, false
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return target, ok
}

func leadsToWeb(href string) bool {
	scheme, _, ok := strings.Cut(href, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// checkHref rejects a node of a post with a link that does not lead to the web.
func checkHref(node any) *refusal {
	href, ok := "", true
	switch text(member(node, "tag")) {
	case "a":
		href = text(member(node, "href"))
		ok = leadsToWeb(href)
	case "md":
		href, ok = oddLink(text(member(node, "text")))
	}
	if ok {
		return nil
	}
	return refuse(RuleHref, codeParam, "Your request contains an invalid request parameter, ext=invalid href: %q", href)
}

// noteLinks records links of a card that do not lead to the web. Whether the platform refuses them is unknown.
func (q *request) noteLinks(card any) {
	eachTag(card, func(tag string, el map[string]any) {
		if tag != tagMarkdown && tag != "lark_md" {
			return
		}
		if href, ok := oddLink(text(el["content"])); !ok {
			q.violate(RuleHref, "%s %s has a link to %q", q.Method, q.URL.Path, href)
		}
	})
}
