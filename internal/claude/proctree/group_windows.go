package proctree

import (
	"context"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// OwnGroup starts a process that can receive a Ctrl-Break, but no Ctrl-C. Its window is hidden if this program has
// none.
func OwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// sendSignal asks a process to end with a Ctrl-Break: Windows has no other signals. It fails if this program has no
// console; then the end of its input stops the CLI, or it is killed.
func sendSignal(p *os.Process, _ syscall.Signal) error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid))
}

// group is the job of a CLI and all its descendants (Job Objects). They end with it, and also when this program ends in
// any way, which closes the last handle to the job.
type group struct{ job windows.Handle } // 0 = there is none

// groupOf puts a process into a new job. Processes that it has already started are not in the job, but a CLI takes
// longer to start anything.
func groupOf(p *os.Process) group {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return group{}
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = assign(job, p.Pid)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return group{}
	}
	return group{job}
}

func assign(job windows.Handle, pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process) //nolint:errcheck // it was only needed for the call
	return windows.AssignProcessToJobObject(job, process)
}

// kill kills all processes in the job.
func (g group) kill() { _ = windows.TerminateJobObject(g.job, 1) }

// close kills all processes left in the job.
func (g group) close() { _ = windows.CloseHandle(g.job) }

// Sweep has nothing to do: the processes of an earlier run have ended with it, because of their jobs.
func Sweep(context.Context, string, []string, ...uint32) (killed int, err error) { return 0, nil }

// AdoptOrphans has nothing to do: an orphan stays in the job of its CLI.
func AdoptOrphans() (stop func(), err error) { return func() {}, nil }
