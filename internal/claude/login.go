package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"magpie/internal/claude/proctree"
)

// Dialog is what a login has to talk about with the person who logs in.
type Dialog struct {
	Link  func(url string) // called once: where that person gets a code
	Again func()           // a code was not complete, another is waited for
	Codes <-chan string    // what that person pastes; it is given to the CLI and kept nowhere
}

// Why a login failed. The CLI's own words are not passed on: they could hold the code.
var (
	ErrLoginRefused = errors.New("the account's service did not accept the code")
	ErrLoginOffline = errors.New("the account's service cannot be reached")
	errNoLink       = errors.New("the CLI ended without showing a link")
)

// LogIn logs the CLI in to an account, for a person who need not sit at this machine. It returns when the CLI has
// ended: nil when it is logged in, the cause of ctx when that ended first. Nothing that the CLI shows after a code has
// been pasted leaves this function.
func (c Config) LogIn(ctx context.Context, d Dialog) error {
	dir, err := os.MkdirTemp("", "magpie-login-") // no project's settings lie there
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty, and lies where such folders are cleaned up
	as, err := c.account()
	if err == nil {
		err = as.admit(dir)
	}
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	keys, tty, err := openTerminal()
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	p, err := startLogin(c, as, dir, tty)
	if err != nil {
		return fmt.Errorf("log in: %w", errors.Join(err, keys.Close()))
	}
	l := &login{p: p, dialog: d, keys: keys, shown: make(chan string)}
	go l.read()
	go func() {
		p.Wait()
		p.Close()
	}()
	err = l.talk(ctx)
	p.Kill() // and whatever it has started
	<-p.Exited()
	_ = keys.Close() // ends read, even if somebody still holds the other side
	for range l.shown {
	}
	return err
}

// openTerminal makes a terminal: what a person has in front of him, and what a program is run on.
func openTerminal() (keys, tty *os.File, err error) {
	master, tty, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer master.Close() //nolint:errcheck // keys is a copy
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 50, Cols: wide}); err != nil {
		return nil, nil, errors.Join(err, tty.Close())
	}
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true) // else a read could not be ended
	}
	if err != nil {
		return nil, nil, errors.Join(err, tty.Close())
	}
	return os.NewFile(uintptr(fd), master.Name()), tty, nil
}

// wide is the terminal's width in characters: the link must fit on one line.
const wide = 4000

// startLogin starts the CLI on a terminal, as the user whose login it is.
func startLogin(c Config, as *account, dir string, tty *os.File) (*proctree.Child, error) {
	defer tty.Close() //nolint:errcheck // the CLI has its own copy
	cmd := exec.Command(c.Command, "auth", "login")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	as.run(cmd)
	p := proctree.New(cmd, c.Instance)
	return p, p.Start(append(c.environ(), "TERM=xterm", "BROWSER=true")) // a browser at this machine helps nobody
}

// login is the CLI's terminal while somebody logs in.
type login struct {
	p      *proctree.Child
	dialog Dialog
	keys   *os.File
	shown  chan string // pieces of what comes to the screen; closed at the end of it

	screen  string // what has not been understood yet
	linked  bool
	pasted  int // codes
	offline bool
}

// read hands on what the CLI shows.
func (l *login) read() {
	defer close(l.shown)
	buf := make([]byte, 4096)
	for {
		n, err := l.keys.Read(buf)
		if n > 0 {
			l.shown <- string(buf[:n])
		}
		if err != nil { // the CLI has gone, and all that it has started
			return
		}
	}
}

// talk carries the dialog on until the CLI has ended or ctx has.
func (l *login) talk(ctx context.Context) error {
	shown, exited, codes := l.shown, l.p.Exited(), (<-chan string)(nil)
	var last <-chan time.Time
	for {
		select {
		case text, ok := <-shown:
			if !ok {
				if shown = nil; exited == nil {
					return l.judge()
				}
				continue
			}
			if l.look(text); l.linked {
				codes = l.dialog.Codes
			}
		case code := <-codes:
			if l.pasted == mostCodes {
				return ErrLoginRefused
			}
			l.paste(code)
		case <-exited:
			if exited, last = nil, time.After(lastWords); shown == nil {
				return l.judge()
			}
		case <-last:
			return l.judge()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lastWords is how long the screen is looked at after the CLI has ended, when something that it has left behind keeps
// it on.
const lastWords = 2 * time.Second

var (
	linkLine = regexp.MustCompile(`https://[^\s\x1b\x07]+[\s\x1b\x07]`) // a hyperlink of the terminal ends with BEL
	badCode  = regexp.MustCompile(`(?i)invalid code|look like the full code`)
	noRoute  = regexp.MustCompile(`ENOTFOUND|EAI_AGAIN|ECONN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT`)
)

// screenful is how much of what is shown is kept, in bytes.
const screenful = 16 << 10

// look reads what has come to the screen.
func (l *login) look(text string) {
	l.screen += text
	if n := len(l.screen) - screenful; n > 0 {
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

// wholeCode is what can be typed in as a code: nothing that a terminal would act upon.
var wholeCode = regexp.MustCompile(`^[!-~]{1,1000}$`)

// mostCodes is how many codes are typed in. So many fit into a terminal that nobody reads.
const mostCodes = 3

// paste types a code in.
func (l *login) paste(code string) {
	code = strings.TrimSpace(code)
	if !wholeCode.MatchString(code) {
		l.dialog.Again()
		return
	}
	l.pasted++
	_, _ = l.keys.WriteString(code + "\r") // fails when the CLI has ended, of which its exit tells
}

// judge tells what the CLI's exit means.
func (l *login) judge() error {
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

// LogIn is [Config.LogIn] for the agents of owner, which are all agents unless each chat has a login of its own.
// Processes that wait for their chat's next message end afterwards: they may know the old login only.
func (pl *Pool) LogIn(ctx context.Context, owner string, d Dialog) error {
	c := pl.cfg
	if c.ConfigDir == isolatedDir {
		var err error
		if c, err = c.of(owner); err != nil {
			return err
		}
		if err := c.furnish(""); err != nil {
			return err
		}
	}
	if err := c.LogIn(ctx, d); err != nil {
		return err
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	for len(pl.idle) > 0 {
		pl.retireIdle(0)
	}
	return nil
}
