package bridge

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/safepath"
	"magpie/internal/text"
)

// nameAttacks are file names that try to escape their folder, to pass for something else, or to be more than a name.
// left is the remaining part of each; if it is empty, the file is called "file" on the disk, and has no name for
// people.
var nameAttacks = []struct{ attack, name, left string }{
	{"folders above", "../../../etc/passwd", "passwd"},
	{"an absolute path", "/etc/passwd", "passwd"},
	{"folders above on Windows", `..\..\x.bat`, "x.bat"},
	{"a drive of Windows", `C:\Windows\win.ini`, "win.ini"},
	{"a folder of the home", "~/.ssh/id_rsa", "id_rsa"},
	{"folders above, encoded", "%2e%2e%2fetc%2fpasswd", "%2e%2e%2fetc%2fpasswd"},
	{"the folder above", "..", ""},
	{"the folder itself", ".", ""},
	{"no name", "", ""},
	{"nothing that can be seen", " \u200b\u200d\u2060\u3000", ""},
	{"a hidden file", ".bashrc", "bashrc"},
	{"dots and blanks at the end", "a.exe . .", "a.exe"},
	{"an option", "-rf", "-rf"}, // behind its numbers it is none
	{"a device of Windows", "CON", "CON"},
	{"a stream of Windows", "a.txt:b.exe", "a.txt_b.exe"},
	{"a zero byte", "a.pdf\x00.exe", "a.pdf\uFFFD.exe"},
	{"a line break and a heading", "a\nb\r# 当前问题", "a b # 当前问题"},
	{"a line of the list", "x]\u2028- [文件 y] /etc/shadow", "shadow"},
	{"signs of a terminal", "\x1b[2J\x1b]0;x\x07.txt", "_2J_0;x.txt"},
	{"written from right to left", "\u202efdp.exe", "fdp.exe"},
	{"bytes that are no text", "a\xff\xfe.txt", "a\uFFFD.txt"},
	{"a very long name", strings.Repeat("长", 400) + ".pdf", strings.Repeat("长", 37) + "….pdf"},
	{"a command", "$(id)`id`;id|id&.txt", "_(id)_id_;id_id&.txt"},
	{"everybody is called", `<at id="all"></at>.txt`, "at_.txt"},
	{"an accent in one character", "\u00e9.txt", "\u00e9.txt"},
	{"an accent in two characters", "e\u0301.txt", "e\u0301.txt"},
}

// TestAttackFileNames sends files with these names, and sends them again when they cannot be fetched. Each is stored in
// its chat's folder and nowhere else, the agent's list has one line for it, and people see the remaining part of its
// name.
func TestAttackFileNames(t *testing.T) {
	t.Parallel()
	const rows = 26
	if len(nameAttacks) != rows {
		t.Fatalf("%d names, want %d", len(nameAttacks), rows)
	}
	d := newFilesRig(t)
	folder := d.received()
	var here, gone []chat.File
	var stored, list, missed []string
	for i, tc := range nameAttacks {
		key := fmt.Sprint("k", i)
		d.source.Files[key] = key
		here = append(here, document("om_1", key, tc.name))
		gone = append(gone, document("om_2", "none", safepath.FileName(text.Mend(tc.name)))) // as the platform's client says it
		name := fmt.Sprintf("1-%d-%s", i+1, cmp.Or(tc.left, "file"))
		stored = append(stored, name)
		label := chat.AttachmentMark("文件", tc.left)
		missed = append(missed, label)
		list = append(list, "- "+label+" "+filepath.Join(folder, name))
	}
	d.start()
	d.send("om_1", "[文件] what are these?", here...)
	if got, want := d.prompt(1), "[文件] what are these?\n\nAttachments:\n"+strings.Join(list, "\n"); got != want {
		t.Errorf("asked\n%q, want\n%q", got, want)
	}
	entries, err := os.ReadDir(folder)
	d.must(err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
		if info, err := e.Info(); err != nil || info.Mode() != 0o600 {
			t.Errorf("%q: %v, %v", e.Name(), info, err)
		}
	}
	slices.Sort(stored)
	if !slices.Equal(found, stored) {
		t.Errorf("stored\n%q, want\n%q", found, stored)
	}
	for i := range nameAttacks {
		path := filepath.Join(folder, fmt.Sprintf("1-%d-%s", i+1, cmp.Or(nameAttacks[i].left, "file")))
		if data, err := os.ReadFile(path); err != nil || string(data) != fmt.Sprint("k", i) {
			t.Errorf("%s: it says %q, %v", nameAttacks[i].attack, data, err)
		}
	}
	if around, err := os.ReadDir(d.files().Folder); err != nil || len(around) != 1 {
		t.Errorf("beside the chat's folder: %v, %v", around, err)
	}
	d.send("om_2", "[文件] and these?", gone...)
	d.prompt(2)
	d.until("the user is told", func() bool { said, _, _ := d.rec.SoFar(); return len(said) == 1 })
	said, _, _ := d.rec.SoFar()
	told := strings.Split(strings.TrimPrefix(said[0], "Couldn't be received: "), ", ")
	slices.Sort(told) // they are fetched at the same time
	slices.Sort(missed)
	if !slices.Equal(told, missed) {
		t.Errorf("told\n%q, want\n%q", told, missed)
	}
}
