package tokenize

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"The builds are running":             "build run",
		"parseHTTPRequest in http_server.go": "parsehttprequest pars http request httpserver http server go",
		"Tom's bike, isn't it?":              "tom bike",
		"went, children, BOUGHT":             "go child buy",
		"飞书机器人":                              "飞 飞书 书 书机 机 机器 器 器人 人",
		"我的猫":                                "的猫 猫",
		"ＡＢＣ　１２３":                            "abc 123",
		"部署v2.3.1到上海":                        "部 部署 署 v2 3 1 上海 海",
		"café naïve":                         "café naïve",
		"カタカナ":                               "カタ タカ カナ",
		"!!! ... —— 的了吗":                     "",
		"a_b __x__ x_":                       "ab b x x",
		"' '' _":                             "",
	} {
		if got := strings.Join(Terms(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A word that is written in one form is found in another.
func TestFormsOfAWordAreOneTerm(t *testing.T) {
	for _, words := range [][]string{
		{"run", "runs", "running", "ran"}, {"study", "studies", "studied"}, {"buy", "buys", "bought"},
		{"paint", "painting", "painted"},
		{"child", "children"}, {"user", "users", "User's"}, {"flaky-test", "Flaky tests"},
	} {
		for _, w := range words[1:] {
			if a, b := Terms(words[0]), Terms(w); !slices.Equal(a, b) {
				t.Errorf("%q is %q, %q is %q", words[0], a, w, b)
			}
		}
	}
}

// The index separates terms by blanks, and treats ASCII signs like blanks: a term must not contain any.
func FuzzTerms(f *testing.F) {
	for _, s := range []string{"parseHTTP 飞书", "a\xffb", "ﬁ ½ ①", "x’y'z", strings.Repeat("长", 100), "\u200d§1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, term := range Terms(text) {
			if term == "" || len(term) > longest || !utf8.ValidString(term) && utf8.ValidString(text) {
				t.Fatalf("%q has the term %q", text, term)
			}
			if strings.ContainsAny(term, " \t\n'\"*()-+:^_"+mark) {
				t.Fatalf("%q has the term %q", text, term)
			}
		}
	})
}

func TestMarks(t *testing.T) {
	at := time.Date(2026, 5, 4, 23, 0, 0, 0, time.FixedZone("", -8*3600))
	if Day(at) != "§20260505" || Month(at) != "§202605" {
		t.Error(Day(at), Month(at))
	}
}

func BenchmarkTerms(b *testing.B) {
	text := strings.Repeat("We moved the staging cluster to the new region last night, 迁移花了三个小时。", 4)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Terms(text)
	}
}
