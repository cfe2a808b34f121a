package configtype

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"syscall"
)

// systemErrorText is what an error of the operating system says in a person's words; empty if it is another error.
// Which system call failed is of no use to a person.
func systemErrorText(err error, l language) string {
	colon := [...]string{"：", ": "}[l]
	switch e := err.(type) { //nolint:errorlint // errors around it are kept
	case *fs.PathError:
		return e.Path + colon + errorText(e.Err, l)
	case *os.LinkError:
		return e.New + colon + errorText(e.Err, l)
	case *os.SyscallError:
		return errorText(e.Err, l)
	case *exec.Error:
		if bad, ok := e.Err.(*fs.PathError); ok && bad.Path == e.Name { //nolint:errorlint // as above
			return errorText(bad, l)
		}
		return e.Name + colon + errorText(e.Err, l)
	case *exec.ExitError:
		return ofExit(e, l)
	case user.UnknownUserError:
		return fmt.Sprintf([...]string{"没有用户 %s", "there is no user %s"}[l], string(e))
	case *net.OpError:
		if e.Addr == nil {
			return errorText(e.Err, l)
		}
		return e.Addr.String() + colon + errorText(e.Err, l)
	case *net.AddrError:
		return fmt.Sprintf([...]string{"%q 应写成 主机:端口 的形式", "%q must be like host:port"}[l], e.Addr)
	case *net.DNSError:
		if e.IsNotFound {
			return e.Name + colon + [...]string{"找不到这个主机", "there is no such host"}[l]
		}
		return ""
	case *tls.CertificateVerificationError:
		return ofCertificate(e.Err, l)
	case syscall.Errno:
		for _, c := range causes {
			if errors.Is(e, c.err) {
				return [...]string{c.zh, c.en}[l]
			}
		}
		return ""
	}
	if err != nil && err.Error() == escapes {
		return [...]string{"路径指向这个文件夹之外", "it leads out of the folder"}[l]
	}
	if bad, ok := err.(net.Error); ok && bad.Timeout() { //nolint:errorlint // as above
		return [...]string{"超时", "timeout"}[l]
	}
	for _, c := range causes {
		if err == c.err { //nolint:errorlint // as above
			return [...]string{c.zh, c.en}[l]
		}
	}
	return ""
}

// ofExit says how a program ended.
func ofExit(e *exec.ExitError, l language) string {
	if code := e.ExitCode(); code >= 0 {
		return fmt.Sprintf([...]string{"退出码 %d", "exit code %d"}[l], code)
	}
	signal := strings.TrimPrefix(e.ProcessState.String(), "signal: ")
	return fmt.Sprintf([...]string{"被信号 %s 终止", "ended by signal %s"}[l], signal)
}

// ofCertificate says why the certificate of a server is not accepted.
func ofCertificate(err error, l language) string {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return [...]string{"服务器的证书已过期，或这台机器的时间不对",
			"the server's certificate has expired, or the clock of this machine is wrong"}[l]
	case errors.As(err, new(x509.HostnameError)):
		return [...]string{"服务器的证书属于另一个主机", "the server's certificate is for another host"}[l]
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return [...]string{"服务器的证书由这台机器不信任的机构签发，中间可能有代理",
			"this machine does not trust who signed the server's certificate; there may be a proxy in between"}[l]
	}
	return [...]string{"服务器的证书不受信任", "the server's certificate is not trusted"}[l]
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
	{exec.ErrNotFound, "PATH 里没有这个程序", "there is no such program in PATH"},
}
