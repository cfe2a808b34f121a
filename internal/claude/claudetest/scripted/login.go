//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// loginLink is the link that a user has to open.
const loginLink = "https://claude.example/oauth/authorize?code=true&state=scripted"

// errLogin means that the login has failed.
var errLogin = errors.New("login failed: request failed with status code 400")

// authStatus fails unless there is a key.
func authStatus() error {
	if os.Getenv("ANTHROPIC_API_KEY") == "" {
		return errors.New("not logged in")
	}
	return nil
}

// logIn speaks as "claude auth login" does. It takes the code "good#scripted", refuses others of that form, asks again
// for what has no "#", and shows what is typed, as a careless program would. MAGPIE_SCRIPTED_LOGIN=offline has it find
// no network, =mute has it show nothing and wait, =stray has it leave a process behind that holds its terminal.
func logIn(in io.Reader, out io.Writer) error {
	// The real program reads the code from its terminal, so this one refuses to run without one.
	if _, err := os.Stat("/dev/tty"); err != nil {
		return err
	}
	how := os.Getenv("MAGPIE_SCRIPTED_LOGIN")
	lines := bufio.NewScanner(in)
	switch how {
	case "mute":
		lines.Scan()
		return nil
	case "stray":
		if err := stray(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "Opening browser to sign in…\r\n\x1b[2mIf the browser didn't open, visit: %s\x1b[0m\r\nPaste "+
		"code here if prompted > ", loginLink)
	for lines.Scan() {
		code := strings.TrimSpace(lines.Text())
		fmt.Fprintf(out, "you typed %s\r\n", code)
		switch {
		case how == "offline":
			fmt.Fprint(out, "Login failed: getaddrinfo ENOTFOUND platform.claude.example\r\n")
			return errLogin
		case code == "good#scripted":
			fmt.Fprint(out, "Login successful.\r\n")
			return os.WriteFile(filepath.Join(os.Getenv("HOME"), "logged-in"), nil, 0o600)
		case strings.Contains(code, "#"):
			return errLogin
		}
		fmt.Fprint(out, "Invalid code. Please make sure the full code was copied.\r\n")
	}
	return lines.Err()
}

// stray starts a process that only shares our terminal, and ends after some seconds.
func stray() error {
	c := exec.Command("sleep", "20")
	c.Env, c.Stdout, c.Stderr = []string{}, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c.Start()
}
