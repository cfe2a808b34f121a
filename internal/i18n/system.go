package i18n

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"regexp"
	"strings"
	"syscall"
)

// systemErrorText is what an error of the operating system says in a person's words; empty if it is another error.
// Which system call failed is of no use to a person.
func systemErrorText(err error, l Lang) string {
	colon := Phrase{"：", ": "}.In(l)
	switch e := err.(type) { //nolint:errorlint // errors around it are kept
	case *fs.PathError:
		if inner, ok := e.Err.(*fs.PathError); ok && inner.Path == e.Path { //nolint:errorlint // as above
			return ErrorText(l, inner) // os.CopyFS names the file that the write has named
		}
		return e.Path + colon + ErrorText(l, e.Err)
	case *os.LinkError:
		return e.New + colon + ErrorText(l, e.Err)
	case *os.SyscallError:
		return ErrorText(l, e.Err)
	case *exec.Error:
		if bad, ok := e.Err.(*fs.PathError); ok && bad.Path == e.Name { //nolint:errorlint // as above
			return ErrorText(l, bad)
		}
		return e.Name + colon + ErrorText(l, e.Err)
	case *exec.ExitError:
		return ofExit(e, l)
	case user.UnknownUserError:
		return fmt.Sprintf(Phrase{"没有用户 %s", "there is no user %s"}.In(l), string(e))
	case syscall.Errno:
		for _, c := range causes {
			if errors.Is(e, c.err) {
				return Phrase{c.zh, c.en}.In(l)
			}
		}
		return ""
	}
	if text := networkErrorText(err, l); text != "" {
		return text
	}
	if err != nil && err.Error() == escapes {
		return Phrase{"路径指向这个文件夹之外", "it leads out of the folder"}.In(l)
	}
	if text := variableErrorText(err, l); text != "" {
		return text
	}
	if bad, ok := err.(net.Error); ok && bad.Timeout() { //nolint:errorlint // as above
		return Phrase{"超时", "timeout"}.In(l)
	}
	for _, c := range causes {
		if err == c.err { //nolint:errorlint // as above
			return Phrase{c.zh, c.en}.In(l)
		}
	}
	return ""
}

// ofExit says how a program ended.
func ofExit(e *exec.ExitError, l Lang) string {
	if code := e.ExitCode(); code >= 0 {
		return fmt.Sprintf(Phrase{"退出码 %d", "exit code %d"}.In(l), code)
	}
	signal := strings.TrimPrefix(e.ProcessState.String(), "signal: ")
	return fmt.Sprintf(Phrase{"被信号 %s 终止", "ended by signal %s"}.In(l), signal)
}

// What package os says if it does not find a folder of the user, with the variable that it looks at last. These errors
// are not exported.
var (
	unsetVariable    = regexp.MustCompile(`^(?:neither \$\w+ nor )?[$%](\w+)%? (?:is not|are) defined$`)
	relativeVariable = regexp.MustCompile(`^path in \$(\w+) is relative$`)
)

// variableErrorText is [systemErrorText] for a variable that must be set.
func variableErrorText(err error, l Lang) string {
	if err == nil {
		return ""
	}
	if m := unsetVariable.FindStringSubmatch(err.Error()); m != nil && m[1] == "HOME" {
		return Phrase{"没有设置环境变量 HOME，不知道主目录在哪里：请先设置，例如 export HOME=/home/me", "the variable HOME is not set, so the home folder is not known: set it first, as in export HOME=/home/me"}.In(l)
	} else if m != nil {
		return fmt.Sprintf(Phrase{"没有设置环境变量 %s", "the variable %s is not set"}.In(l), m[1])
	}
	if m := relativeVariable.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Sprintf(Phrase{"环境变量 %s 应为绝对路径", "the variable %s must be an absolute path"}.In(l), m[1])
	}
	return ""
}

// escapes is what an [os.Root] says of a link or a path that leads out of its folder. The error itself is not exported.
const escapes = "path escapes from parent"

// causes are the errors that people meet, with their words.
var causes = []struct {
	err    error
	zh, en string
}{
	{fs.ErrNotExist, "文件或文件夹不存在", "there is no such file or folder"},
	{fs.ErrPermission, "没有权限", "permission denied"},
	{syscall.ENOTEMPTY, "文件夹不是空的", "the folder is not empty"}, // before ErrExist, which it is to errors.Is
	{fs.ErrExist, "已经存在", "it already exists"},
	{syscall.ENOSPC, "磁盘空间不足", "the disk is full"},
	{syscall.EROFS, "文件系统是只读的", "the file system is read-only"},
	{syscall.EIO, "磁盘读写出错", "the disk reports an error"},
	{syscall.EISDIR, "这是文件夹，不是文件", "it is a folder, not a file"},
	{syscall.ENOTDIR, "路径中有一段不是文件夹", "a part of the path is not a folder"},
	{syscall.ENAMETOOLONG, "名称太长", "the name is too long"},
	{syscall.ELOOP, "符号链接成环", "the symbolic links form a loop"},
	{syscall.EMFILE, "打开的文件太多", "too many files are open"},
	{syscall.ENOMEM, "内存不足", "there is not enough memory"},
	{syscall.ENOEXEC, "不是可执行的程序", "it is not a program that runs here"},
	{syscall.EADDRINUSE, "地址已被占用", "the address is in use"},
	{syscall.EADDRNOTAVAIL, "这台机器没有这个地址", "this machine has no such address"},
	{syscall.ECONNREFUSED, "连接被拒绝", "the connection was refused"},
	{syscall.ECONNRESET, "连接被断开", "the connection was cut off"},
	{syscall.ENETUNREACH, "网络不通", "the network cannot be reached"},
	{syscall.EHOSTUNREACH, "连接不上主机", "the host cannot be reached"},
	{syscall.ETIMEDOUT, "超时", "timeout"},
	{io.EOF, "过早结束", "it ended too early"},
	{io.ErrUnexpectedEOF, "过早结束", "it ended too early"},
	{os.ErrDeadlineExceeded, "超时", "timeout"},
	{context.DeadlineExceeded, "超时", "timeout"},
	{context.Canceled, "已取消", "canceled"},
	{http.ErrSchemeMismatch, "对方没有使用加密连接（TLS）：地址不对，或中间有代理",
		"the other side does not use encryption (TLS): the address is wrong, or there is a proxy in between"},
	{exec.ErrNotFound, "PATH 里没有这个程序", "there is no such program in PATH"},
}
