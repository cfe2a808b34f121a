package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"magpie/internal/claude/claudetest"
	"magpie/internal/console/consoletest"
	"magpie/internal/modelsim"
)

// startPlayground starts a playground with its data in a folder, with the real CLI unless args name another command. It
// returns the page's address.
func startPlayground(t *testing.T, bin, folder string, args ...string) string {
	t.Helper()
	args = append([]string{
		"playground", "--listen", "127.0.0.1:0", "--data", folder, "--command", claudetest.Command(t)}, args...)
	cmd := exec.CommandContext(context.Background(), bin, args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(),
		"LD_PRELOAD=" + os.Getenv("LD_PRELOAD"), // that of eatmydata: the disk of a busy machine may take seconds
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("playground: %v", err)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, url, ok := strings.Cut(lines.Text(), "playground: "); ok {
			go func() {
				for lines.Scan() { // drain the pipe, or the program would block
				}
			}()
			return url
		}
	}
	t.Fatal("the playground did not print its address")
	return ""
}

// screen is a screen on which the page is tested.
type screen struct {
	name, theme string
	width       int64
}

var (
	lightDesktop = screen{"desktop", "light", 1440}
	darkDesktop  = screen{"desktop", "dark", 1440}
	lightPhone   = screen{"phone", "light", 390}
	darkPhone    = screen{"phone", "dark", 390}
)

// visitor takes the tour on the first of its screens, and checks each step on all of them.
type visitor struct {
	t *testing.T
	*consoletest.Browser
	language string
	screens  []screen
}

// screens are the screens on which each step of the tour is checked, each by one of the visitors.
var screens = []screen{lightDesktop, darkPhone, lightPhone, darkDesktop}

// visitors are those who take the tour.
var visitors = []visitor{{language: "zh-CN", screens: screens[:2]}, {language: "en-US", screens: screens[2:]}}

func (v visitor) screen(s screen) { v.Screen(s.width, 900, s.theme) }

// The program as ./scripts/run starts it, with the real CLI. The tour is taken in each language.
func TestThePlayground(t *testing.T) {
	t.Parallel()
	bin := binary(t)
	for _, v := range visitors {
		t.Run("tour "+v.language, func(t *testing.T) {
			t.Parallel()
			url := startPlayground(t, bin, t.TempDir(), "--pace", "10ms", "--story", "100ms")
			if *makePictures {
				v.screens = screens
			}
			v.t, v.Browser = t, consoletest.BrowseIn(t, url, v.language)
			v.screen(v.screens[0])
			v.Until(`document.querySelector('#bridge[data-state=up]')`)
			v.takeTour()
			v.recordStills()
			if n := v.Eval(`document.querySelector('#violations').dataset.count`); n != "0" {
				t.Errorf("%s rules of the platform were broken", n)
			}
			v.RefuteComplaints()
		})
	}
	t.Run("troubles", func(t *testing.T) {
		t.Parallel()
		visitorsBreakThings(t, bin)
	})
}

// look checks a step of the tour on each screen: accessibility, Chinese text in English, and its picture.
func (v visitor) look(step string) {
	v.t.Helper()
	for _, s := range v.screens {
		v.screen(s)
		where := strings.Join([]string{v.language, "step", step, s.name, s.theme}, " ")
		v.RefuteBarriers(where)
		v.refuteHan(where)
		v.Eval(`document.querySelector('#messages').scrollTop = 1e6`)
		v.still("step-" + step + "-" + s.name + "-" + s.theme)
	}
	v.screen(v.screens[0])
}

// refuteHan fails if an English page contains Chinese: texts, labels, the bot's messages, and what the agent was sent.
func (v visitor) refuteHan(where string) {
	v.t.Helper()
	if strings.HasPrefix(v.language, "zh") {
		return
	}
	found := v.Eval(`[document.documentElement.lang === 'en' ? '' : '语 ' + document.documentElement.lang, document.title,
		document.body.innerText.replace(document.querySelector('#lang').innerText, ''),
		...[...document.querySelectorAll('[aria-label], [title], [placeholder], [alt]')].filter(e => e.id !== 'lang').flatMap(
			e => [e.getAttribute('aria-label'), e.title, e.placeholder, e.alt])].flatMap(
		text => String(text || '').match(/.*\p{Script=Han}.*/gu) || []).join('\n')`)
	if found != "" {
		v.t.Errorf("%s: Chinese on the page: %s", where, found)
	}
	if both := v.Eval(`(document.body.innerText.match(/.*\(s\).*/g) || []).join('\n')`); both != "" {
		v.t.Errorf("%s: a word is there in both of its forms: %s", where, both)
	}
}

// A playground neither overwrites nor removes other files in its folder.
func TestAPlaygroundLeavesForeignFilesAlone(t *testing.T) {
	for _, part := range playgroundParts {
		dir := t.TempDir()
		path := filepath.Join(dir, part)
		must(t, os.WriteFile(path, []byte("mine"), 0o600))
		_, _, err := playgroundCmd{Data: dir, Fresh: true}.prepareFolder()
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", part, err)
		}
		if data, err := os.ReadFile(path); string(data) != "mine" {
			t.Errorf("%s became %q, %v", part, data, err)
		}
		if files, err := os.ReadDir(dir); len(files) != 1 {
			t.Errorf("beside %s: %v, %v", part, files, err)
		}
	}
	dir := t.TempDir()
	for range 2 { // its own folder can be reused
		got, release, err := playgroundCmd{Data: dir, Fresh: true}.prepareFolder()
		must(t, err)
		if _, _, err := (playgroundCmd{Data: dir}).prepareFolder(); err == nil || !strings.Contains(err.Error(), "stop it, or") {
			t.Errorf("while another one uses it: %v", err)
		}
		release()
		if _, err := os.Stat(filepath.Join(got, "project")); err != nil {
			t.Error(err)
		}
	}
}

func TestAPlaygroundIsForThisMachineOnly(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:7777", ":7777", "[::]:7777", "192.0.2.1:7777"} {
		err := playgroundCmd{Listen: listen, Data: t.TempDir()}.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "--listen 127.0.0.1:7777") {
			t.Errorf("%s: %v", listen, err)
		}
	}
}

func TestAPlaygroundIgnoresTheConfigurationOfBridges(t *testing.T) {
	got := environWithoutConfig([]string{"PATH=/bin", "MAGPIE_FEISHU_APP_ID=cli_real", "ANTHROPIC_API_KEY=k"})
	if !slices.Equal(got, []string{"PATH=/bin", "ANTHROPIC_API_KEY=k"}) {
		t.Errorf("%q", got)
	}
}

// act presses the tour's button. arrived waits until the tour is at an act of a step.
func act(b *consoletest.Browser) { b.Press("#tour-do") }

func arrived(b *consoletest.Browser, step string, number int) {
	b.Until(fmt.Sprintf(`document.querySelector('#tour[data-step=%q][data-act="%d"]')`, step, number))
}

// allow allows the newest request that shows these words.
func allow(b *consoletest.Browser, words string) {
	b.PressIn(`.message[data-bot]:has(`+allowButton+`)`, words, allowButton)
}

// bridgeOf is the process id of the bridge.
func bridgeOf(b *consoletest.Browser) string {
	return b.Eval(`fetch('api/state').then(r => r.json()).then(s => s.bridge.pid)`)
}

const (
	allowButton = `button[data-do="allow"]:not(:disabled)`
	firstWords  = `document.querySelector('.message.mine .words').textContent`
	lastCard    = `[...document.querySelectorAll('.message[data-bot] .show')].at(-1)`
)

// storyTold is the text of the newest two cards, one of which tells the story, without spaces.
const storyTold = `[...document.querySelectorAll('.message[data-bot] .card')].slice(-2).map(c =>
	[...c.querySelectorAll('.body > .md:not(.small)')].map(m => m.innerText).join('')).join('').replace(/\s/g, '')`

// wholeStory fails unless the newest two cards contain each paragraph of the story once. The words of its title stand in
// other answers, too.
func wholeStory(t *testing.T, b *consoletest.Browser) {
	t.Helper()
	told := b.Eval(storyTold)
	plain := regexp.MustCompile(`[\s#*]`)
	for paragraph := range strings.SplitSeq(modelsim.Story(b.Eval(`document.documentElement.lang`)), "\n\n") {
		if n := strings.Count(told, plain.ReplaceAllString(paragraph, "")); n != 1 && !strings.HasPrefix(paragraph, "#") {
			t.Errorf("%d times: %s\nin %s", n, paragraph, told)
		}
	}
}

// takeTour clicks through all six steps, as a newcomer does: with a lost session, and a bridge that is killed in
// mid-answer.
func (v visitor) takeTour() {
	t, b := v.t, v.Browser
	t.Helper()
	// 1: a question about the sample project. 2: an edit and a command, each with an approval.
	arrived(b, "1", 1)
	v.look("1")
	act(b)
	arrived(b, "2", 1)
	b.Until(`document.querySelector('.card .put')`) // the diff
	v.look("2")
	allow(b, "price.sh")
	allow(b, "sh test.sh")
	arrived(b, "3", 1)
	b.Until(`document.querySelectorAll('.card .md table').length === 1`)

	// 3: the session is lost, which only the context panel shows.
	act(b)
	arrived(b, "3", 2)
	act(b)
	arrived(b, "4", 1)
	for _, want := range []string{
		`document.querySelector('.turn[data-lost] mark.healing')`,
		`document.querySelector('.turn[data-lost] .prefix pre').textContent.includes(` + firstWords + `)`,
		lastCard + `.querySelector('.md strong').textContent === ` + firstWords,
	} {
		b.Until(want)
	}
	v.look("3")
	v.openDrawer()

	// 4: the bridge is killed in mid-answer. The text so far stays, and the answer goes on by itself.
	act(b)
	arrived(b, "4", 2)
	b.Until(storyTold + `.length > 60`)
	before := bridgeOf(b)
	v.look("4")
	told := strings.ReplaceAll(b.Eval(storyTold), "\u200b", "") // which stands in a card that says nothing yet
	act(b)
	arrived(b, "5", 1)
	if now := b.Eval(storyTold); !strings.HasPrefix(now, told) || told == "" {
		t.Errorf("after the kill the chat shows %q, before it %q", now, told)
	}
	wholeStory(t, b)
	if now := bridgeOf(b); now == before || now == "" {
		t.Errorf("the bridge is process %q, before it was %q", now, before)
	}

	// 5: a form and a plan.
	act(b)
	arrived(b, "5", 2)
	b.Do(chromedp.SetValue(chromedp.CSS(`.form select`), "1"))
	b.Press(`.form .choices input[value="2"]`)
	v.look("5")
	b.Press(`.form button[data-do="allow"]`)
	arrived(b, "5", 3)
	b.Until(`/20.*(孩子|Children)/s.test([...document.querySelectorAll('.card')].map(c => c.textContent).join())`)
	act(b)
	arrived(b, "5", 4)
	b.Press(allowButton)
	arrived(b, "6", 1)

	// 6: a memory outlives its conversation.
	for n := 1; n <= 3; n++ {
		arrived(b, "6", n)
		act(b)
	}
	b.Until(`document.querySelector('#tour[data-step=over]')`)
	v.look("6")
	b.Type("#composer", "/cost\r")
	b.Until(lastCard + `.textContent.includes('token')`)
	b.Type("#composer", "/admin budgets\r")
	b.Until(lastCard + `.textContent.includes('Ming') || ` + lastCard + `.textContent.includes('小明')`)
	refuteCharges(t, b)
	v.refuteHan("costs")
	b.Eval(`document.querySelector('#composer').value = ''`) // the test keyboard has left a line break there
	v.openCommands()
}

// openDrawer checks the context panel on a phone, where it covers the chat.
func (v visitor) openDrawer() {
	v.screen(darkPhone)
	v.Press("#toggle-context")
	v.Until(`document.querySelector('#toggle-context[aria-expanded=true]')`)
	v.RefuteBarriers(v.language + " drawer")
	v.refuteHan("drawer")
	v.Press("#toggle-context")
	v.screen(v.screens[0])
}

// openCommands checks the list of commands.
func (v visitor) openCommands() {
	v.Type("#composer", "/")
	v.Until(`!document.querySelector('#commands').hidden`)
	v.RefuteBarriers(v.language + " commands")
	v.refuteHan("commands")
}
