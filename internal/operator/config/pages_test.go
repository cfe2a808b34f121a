package config

import (
	"os"
	"path/filepath"
	"testing"
)

// A text names the pages where the package, the archive or npm has installed them, and otherwise by their names.
func TestPagesAreNamedWhereTheyAre(t *testing.T) {
	const text = "See docs/configuration.md, docs/nothing.md, /srv/docs/configuration.md; 见 docs/configuration.md。"
	for name, tc := range map[string]struct{ program, pages string }{
		"a package":  {"usr/bin", "usr/share/doc/magpie"},
		"an archive": {"magpie_1.0.0_linux_amd64", "magpie_1.0.0_linux_amd64"},
		"npm":        {"magpie-bridge-linux-x64/bin", "magpie-bridge-linux-x64"},
		"no pages":   {"usr/local/bin", ""},
	} {
		root := t.TempDir()
		want := text
		if tc.pages != "" {
			docs := filepath.Join(root, tc.pages, "docs")
			if err := os.MkdirAll(docs, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, page := range []string{"feishu-app.md", "configuration.md"} {
				if err := os.WriteFile(filepath.Join(docs, page), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			page := filepath.Join(docs, "configuration.md")
			want = "See " + page + ", docs/nothing.md, /srv/docs/configuration.md; 见 " + page + "。"
		}
		if got := locatePages(text, filepath.Join(root, tc.program)); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "docs", "configuration.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := locatePages(text, root); got != text {
		t.Errorf("somebody else's pages are named: %s", got)
	}
}
