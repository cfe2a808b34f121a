package doctor

import (
	"errors"
	"net"
	"syscall"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// checkListen checks whether the bridge can serve its pages at [http] listen, or is doing so.
func checkListen(r *Report, c config.Config) {
	if c.HTTP.Listen == "" || c.HTTP.Validate() != nil {
		return
	}
	address, bridge := c.HTTP.Address(), 0
	if c.DB.Validate() == nil {
		bridge = servingPID(c.DBConfig())
	}
	if bridge != 0 { // nothing is opened while it may be just about to listen
		_, port, _ := net.SplitHostPort(address) // it is valid
		if name, pid := portHolder(port); pid != 0 && pid != bridge {
			r.AddFinding(Fail, r.text(i18n.DoctorListenElsewhere), i18n.DoctorListenBusy, address, nameHolder(name, pid))
			return
		}
		r.AddFinding(OK, "", i18n.DoctorListenServed, address, bridge)
		return
	}
	ln, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		_ = ln.Close() // nobody has connected
		r.AddFinding(OK, "", i18n.DoctorListenFree, address)
	case errors.Is(err, syscall.EADDRINUSE):
		r.AddFinding(Fail, r.text(i18n.DoctorListenElsewhere), i18n.DoctorListenBusy, address, holderOf(address))
	default:
		r.AddFinding(Fail, r.text(i18n.DoctorListenElsewhere), i18n.DoctorListenFails, err)
	}
}

// ExplainListen explains an address that is in use: which process has it, if known, and how to configure another one.
func ExplainListen(err error, address, how string) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return i18n.Mistakef("%s 已被占用%v：停掉占用它的程序，或用 %s 换一个地址",
		"%s is in use%v: stop that program, or choose another address with %s", address, holderOf(address), how)
}

// holderOf names the process that listens on an address.
func holderOf(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nameHolder("", 0)
	}
	return nameHolder(portHolder(port))
}

// nameHolder names a process that holds a port, for an error about the port; 0 = it is not known.
func nameHolder(name string, pid int) error {
	if pid == 0 {
		return i18n.Mistakef("", "")
	}
	return i18n.Mistakef("（%q，进程 %d）", " by %q (process %d)", name, pid)
}
