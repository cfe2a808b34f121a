package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"magpie/internal/claude/proctree"
	"magpie/internal/claude/workspace"
)

// Dialog connects a login with the user who logs in.
type Dialog struct {
	Link  func(url string) // called once, with the page that shows a code
	Again func()           // the code was incomplete; another one is expected
	Codes <-chan string    // codes as pasted; they are passed to the CLI and not stored
}

// Causes of a failed login. The CLI's own messages are not passed on: they could contain the code.
var (
	ErrLoginRefused = errors.New("the account's service did not accept the code")
	ErrLoginOffline = errors.New("the account's service cannot be reached")
	errNoLink       = errors.New("the CLI ended without showing a link")
)

// LogIn logs the CLI in to an account, for a user who need not be at this machine. It is the account of owner's agents,
// or of all agents unless each chat has its own login. It returns when the CLI has ended: nil after a successful login,
// or the cause of ctx if that ended first. Nothing that the CLI shows after a code was pasted leaves this function.
//
// Idle processes end afterwards, and the others when their turn has ended: they may only know the old login.
func (pl *Pool) LogIn(ctx context.Context, owner string, d Dialog) error {
	if !pl.cfg.HasOwnLogins() {
		owner = ""
	}
	a, err := pl.cfg.AgentOf(owner)
	if err == nil {
		err = a.Prepare(Spec{})
	}
	if err == nil {
		err = logIn(ctx, a, d)
	}
	if err != nil {
		return err
	}
	pl.noteLogin()
	return nil
}

// noteLogin ends the processes that only know an earlier login and are not in use.
func (pl *Pool) noteLogin() {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.logins++
	pl.retireAll(idle, spare)
	pl.fill()
}

// logIn logs the CLI in; see [Pool.LogIn].
func logIn(ctx context.Context, a workspace.Agent, d Dialog) error {
	dir, err := os.MkdirTemp("", "magpie-login-") // a folder without a project's settings
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty, and lies where such folders are cleaned up
	if err := a.User.GrantAccess(dir); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	keys, tty, err := openTerminal()
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	p, err := startLogin(a, dir, tty)
	if err != nil {
		return fmt.Errorf("log in: %w", errors.Join(err, keys.Close()))
	}
	l := &login{p: p, dialog: d, keys: keys, shown: make(chan string)}
	go l.read()
	go func() {
		p.Wait()
		p.Close()
	}()
	err = l.runDialog(ctx)
	p.Kill() // and all its descendants
	<-p.Exited()
	_ = keys.Close() // ends read, even if another process still holds the terminal
	for range l.shown {
	}
	return err
}

// terminalWidth is in characters. It is large so that the link fits on one line.
const terminalWidth = 4000

// startLogin starts the CLI in a terminal, as the user whose login it is.
func startLogin(a workspace.Agent, dir string, tty *os.File) (*proctree.Child, error) {
	defer tty.Close() //nolint:errcheck // the CLI has its own copy
	cmd := exec.Command(a.Config.Command, "auth", "login")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, tty, tty, tty
	cmd.SysProcAttr = inTerminal()
	a.User.SetCredential(cmd)
	p := proctree.New(cmd, a.Config.Instance, "")
	// No browser is to open on this machine.
	return p, p.Start(append(a.Env.List(), "TERM=xterm", "BROWSER=true"), nil)
}

// login is the CLI's terminal during a login.
type login struct {
	p      *proctree.Child
	dialog Dialog
	keys   *os.File
	shown  chan string // pieces of the output; closed at its end

	screen  string // output that was not recognized yet
	linked  bool
	pasted  int // codes
	offline bool
}

// read passes on the CLI's output.
func (l *login) read() {
	defer close(l.shown)
	buf := make([]byte, 4096)
	for {
		n, err := l.keys.Read(buf)
		if n > 0 {
			l.shown <- string(buf[:n])
		}
		if err != nil { // the CLI and all its descendants have ended
			return
		}
	}
}

// runDialog handles output and codes until the CLI or ctx has ended.
func (l *login) runDialog(ctx context.Context) error {
	shown, exited, codes := l.shown, l.p.Exited(), (<-chan string)(nil)
	var last <-chan time.Time
	for {
		select {
		case text, ok := <-shown:
			// The program may end before or after its last output, so the loop waits for both.
			if !ok {
				if shown = nil; exited == nil {
					return l.result()
				}
				continue
			}
			// A code is accepted only after the link was shown: one sent earlier belongs to an earlier attempt.
			if l.scan(text); l.linked {
				codes = l.dialog.Codes
			}
		case code := <-codes:
			if l.pasted == maxCodes {
				return ErrLoginRefused
			}
			l.paste(code)
		case <-exited:
			// A child that inherited the terminal may keep it open, so the rest of the output gets a limited time.
			if exited, last = nil, time.After(drainTime); shown == nil {
				return l.result()
			}
		case <-last:
			return l.result()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// drainTime is how long output is read after the CLI has ended, if a process that it left behind keeps the terminal
// open.
const drainTime = 2 * time.Second

var (
	linkLine = regexp.MustCompile(`https://[^\s\x1b\x07]+[\s\x1b\x07]`) // a hyperlink of the terminal ends with BEL
	badCode  = regexp.MustCompile(`(?i)invalid code|look like the full code`)
	noRoute  = regexp.MustCompile(`ENOTFOUND|EAI_AGAIN|ECONN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT`)
)

// maxScreen limits how much output is kept, in bytes.
const maxScreen = 16 << 10

// scan looks for known messages in the output.
func (l *login) scan(text string) {
	l.screen += text
	if n := len(l.screen) - maxScreen; n > 0 {
		l.screen = l.screen[n:]
	}
	switch link := linkLine.FindString(l.screen); {
	case !l.linked && link != "":
		l.linked, l.screen = true, ""
		l.dialog.Link(link[:len(link)-1])
	case l.pasted > 0 && badCode.MatchString(l.screen):
		l.screen = ""
		l.dialog.Again()
	case noRoute.MatchString(l.screen):
		l.offline = true
	}
}

// wholeCode matches text that may be typed in as a code: nothing that a terminal would interpret.
var wholeCode = regexp.MustCompile(`^[!-~]{1,1000}$`)

// maxCodes limits how many codes are typed in. That many fit into the buffer of a terminal that nobody reads.
const maxCodes = 3

// paste types in a code.
func (l *login) paste(code string) {
	code = strings.TrimSpace(code)
	if !wholeCode.MatchString(code) {
		l.dialog.Again()
		return
	}
	l.pasted++
	_, _ = l.keys.WriteString(code + "\r") // fails if the CLI has ended, which its exit reports
}

// result interprets the CLI's exit.
func (l *login) result() error {
	switch {
	case l.p.Err() == nil:
		return nil
	case l.offline:
		return ErrLoginOffline
	case !l.linked:
		return fmt.Errorf("%w: %w", errNoLink, l.p.Err())
	}
	return ErrLoginRefused
}
