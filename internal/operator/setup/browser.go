package setup

import (
	"context"
	"os"
	"os/exec"
	"runtime"

	"magpie/internal/claude/proctree"
	"magpie/internal/i18n"
)

// offerBrowser opens an address in a browser on this computer if the operator agrees. It returns false where no browser
// would be seen, so that nothing was asked.
func (d *dialog) offerBrowser(ctx context.Context, address string) (asked bool) {
	args := browser(runtime.GOOS, os.Getenv, address)
	if args == nil {
		return false
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return false
	}
	if yes, err := d.confirm(ctx, i18n.SetupOpenLink, true); err != nil || !yes {
		return true // with ctx, the registration ends as well
	}
	open := opener(args)
	open.SysProcAttr = proctree.OwnGroup() // so that Ctrl-C does not close the browser
	if err := open.Run(); err != nil {
		d.say(i18n.SetupNotOpened, err)
		return true
	}
	d.say(i18n.SetupOpening)
	return true
}

// browser is the command that opens an address in a browser; nil = nobody would see it. Over SSH a graphical session
// is of use only if it is forwarded, which only X11 does.
func browser(goos string, getenv func(string) string, address string) []string {
	switch remote := getenv("SSH_CONNECTION") != ""; {
	case goos == "windows" && !remote:
		return []string{"rundll32", "url.dll,FileProtocolHandler", address} // start would interpret the & of an address
	case goos == "darwin" && !remote:
		return []string{"open", address}
	case goos == "windows", goos == "darwin":
		return nil
	case getenv("DISPLAY") != "", getenv("WAYLAND_DISPLAY") != "":
		return []string{"xdg-open", address}
	}
	return nil
}

// opener runs a command. xdg-open may become the browser itself: a shell leaves it to the system, because the bridge,
// which may run in this process later, ends what its agents leave behind.
func opener(args []string) *exec.Cmd {
	if args[0] == "xdg-open" {
		args = append([]string{"sh", "-c", `"$0" "$@" </dev/null >/dev/null 2>&1 &`}, args...)
	}
	return exec.Command(args[0], args[1:]...)
}
