package account

import "golang.org/x/sys/unix"

// missingCapabilities are those of [Capabilities] that this program lacks.
func missingCapabilities() (names []string) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var held [2]unix.CapUserData
	err := unix.Capget(&header, &held[0])
	for i, bit := range []uint{
		unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL, unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH,
	} {
		if err != nil || held[0].Effective&(1<<bit) == 0 {
			names = append(names, Capabilities()[i])
		}
	}
	return names
}
