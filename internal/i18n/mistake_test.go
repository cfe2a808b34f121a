package i18n_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/configtype"
	"magpie/internal/i18n"
)

// An error has a Chinese text as far as possible, however it was wrapped. In English it behaves like any other error.
func TestMistakesInBothLanguages(t *testing.T) {
	t.Parallel()
	port := i18n.Mistakef("端口 %d 无效", "port %d is wrong", 7)
	file := i18n.Mistakef("文件 %q：%v", "file %q: %v", "x", fs.ErrNotExist)
	nested := i18n.Mistakef("第 %d 行：%v", "line %d: %v", 3, port)
	for _, tc := range []struct {
		err    error
		en, zh string
	}{
		{port, "port 7 is wrong", "端口 7 无效"},
		{nested, "line 3: port 7 is wrong", "第 3 行：端口 7 无效"},
		{fmt.Errorf("[http] listen: %w", port), "[http] listen: port 7 is wrong", "[http] listen: 端口 7 无效"},
		{
			errors.Join(port, errors.New("other"), fmt.Errorf("a: %w", nested)),
			"port 7 is wrong\nother\na: line 3: port 7 is wrong", "端口 7 无效\nother\na: 第 3 行：端口 7 无效",
		},
		{file, `file "x": file does not exist`, `文件 "x"：文件或文件夹不存在`},
	} {
		if tc.err.Error() != tc.en || i18n.ErrorText(i18n.Chinese, tc.err) != tc.zh {
			t.Errorf("%q, %q; want %q, %q", tc.err, i18n.ErrorText(i18n.Chinese, tc.err), tc.en, tc.zh)
		}
	}
	if !errors.Is(fmt.Errorf("x: %w", file), fs.ErrNotExist) || errors.Is(port, fs.ErrNotExist) {
		t.Error("errors.Is does not find the wrapped error")
	}
}

// A duration in an error is written as in a configuration file.
func TestDurationsAreWrittenAsInAFile(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		24 * time.Hour: "24h", 2 * time.Minute: "2m", 90 * time.Second: "1m30s", 90 * time.Minute: "1h30m", 0: "0s",
		time.Hour + time.Second: "1h0m1s", 20 * time.Second: "20s", 720 * time.Hour: "720h",
	} {
		got := configtype.Duration{Duration: d}
		if text, err := got.MarshalText(); err != nil || string(text) != want {
			t.Errorf("%v: %q, %v", d, text, err)
		}
		var back configtype.Duration
		if err := back.UnmarshalText([]byte(want)); err != nil || back != got {
			t.Errorf("%q is read as %v, %v", want, back, err)
		}
		err := i18n.Mistakef("至少为 %v", "must be %v or more", d)
		if err.Error() != "must be "+want+" or more" || i18n.ErrorText(i18n.Chinese, err) != "至少为 "+want {
			t.Errorf("%v, %s", err, i18n.ErrorText(i18n.Chinese, err))
		}
	}
}

// Without a home folder, the error of package os is put in plain words, whichever folder was looked up.
func TestNoHomeInBothLanguages(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	for _, find := range []func() (string, error){os.UserHomeDir, os.UserConfigDir, os.UserCacheDir} {
		_, err := find()
		en, zh := i18n.ErrorText(i18n.English, err), i18n.ErrorText(i18n.Chinese, err)
		if !strings.Contains(en, "HOME is not set") || !strings.Contains(zh, "没有设置环境变量 HOME") {
			t.Errorf("%v: %q, %q", err, en, zh)
		}
	}
	t.Setenv("XDG_CONFIG_HOME", "x")
	_, err := os.UserConfigDir()
	if zh := i18n.ErrorText(i18n.Chinese, err); zh != "环境变量 XDG_CONFIG_HOME 应为绝对路径" {
		t.Errorf("%v: %q", err, zh)
	}
}

// slow is a timeout, like the internal one of net/http.
type slow struct{}

func (slow) Error() string   { return "slow" }
func (slow) Timeout() bool   { return true }
func (slow) Temporary() bool { return true }

// Errors of the operating system are reported in plain words, in both languages and without the name of the system
// call.
func TestErrorsOfTheSystemInBothLanguages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, missing := os.Open(filepath.Join(dir, "x"))
	_, notFolder := os.ReadDir("/dev/null/x")
	_, noProgram := exec.LookPath("no-such-program")
	_, badAddress := net.Listen("tcp", "x")
	_, badPort := net.Listen("tcp", "127.0.0.1:80000")
	_, noFile := exec.LookPath("/no/such/program")
	failed, killed := exec.Command("sh", "-c", "exit 4").Run(), exec.Command("sh", "-c", "kill -9 $$").Run()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close() //nolint:errcheck // only a handle
	_, outside := root.Open("../x")
	for _, tc := range []struct {
		err    error
		en, zh string
	}{
		{missing, dir + "/x: there is no such file or folder", dir + "/x：文件或文件夹不存在"},
		{notFolder, "/dev/null/x: a part of the path is not a folder", "/dev/null/x：路径中有一段不是文件夹"},
		{
			fmt.Errorf("log: %w", &fs.PathError{Op: "write", Path: "/d", Err: syscall.ENOSPC}),
			"log: /d: the disk is full", "log: /d：磁盘空间不足",
		},
		{&os.LinkError{Op: "rename", Old: "/a", New: "/b", Err: syscall.EACCES}, "/b: permission denied", "/b：没有权限"},
		{
			&net.OpError{Op: "listen", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7},
				Err: os.NewSyscallError("bind", syscall.EADDRINUSE)},
			"127.0.0.1:7: the address is in use", "127.0.0.1:7：地址已被占用",
		},
		{noProgram, "no-such-program: there is no such program in PATH", "no-such-program：PATH 里没有这个程序"},
		{
			&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
			"this machine does not trust who signed the server's certificate; there may be a proxy in between",
			"服务器的证书由这台机器不信任的机构签发，中间可能有代理",
		},
		{
			&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}},
			"the server's certificate has expired, or the clock of this machine is wrong",
			"服务器的证书已过期，或这台机器的时间不对",
		},
		{
			&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}}},
			"the server's certificate is for another host", "服务器的证书属于另一个主机",
		},
		{
			&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "open.feishu.cn", IsNotFound: true}},
			"open.feishu.cn: there is no such host", "open.feishu.cn：找不到这个主机",
		},
		{
			&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
				Err: "read udp 10.0.0.2:4711->1.1.1.1:53: connection refused", Name: "open.feishu.cn", Server: "1.1.1.1:53",
			}},
			"open.feishu.cn: the DNS lookup failed", "open.feishu.cn：查询 DNS 失败",
		},
		{
			&net.DNSError{Err: "i/o timeout", Name: "open.feishu.cn", IsTimeout: true},
			"open.feishu.cn: the DNS lookup took too long", "open.feishu.cn：查询 DNS 超时",
		},
		{
			&net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.OpError{
				Op: "dial", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7}, Err: syscall.ECONNREFUSED,
			}},
			"the proxy cannot be reached: 127.0.0.1:7: the connection was refused",
			"连接不上代理：127.0.0.1:7：连接被拒绝",
		},
		{
			tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
			"the other side does not use encryption (TLS): the address is wrong, or there is a proxy in between",
			"对方没有使用加密连接（TLS）：地址不对，或中间有代理",
		},
		{
			&net.OpError{Op: "remote error", Err: tls.AlertError(40)},
			"no encrypted connection (TLS) could be made", "没有建立加密连接（TLS）",
		},
		{
			errors.New("neither $XDG_CONFIG_HOME nor $HOME are defined"),
			"the variable HOME is not set, so the home folder is not known: set it first, as in export HOME=/home/me",
			"没有设置环境变量 HOME，不知道主目录在哪里：请先设置，例如 export HOME=/home/me",
		},
		{fmt.Errorf("ask: %w", slow{}), "ask: timeout", "ask: 超时"},
		{badAddress, `"x" must be like host:port`, `"x" 应写成 主机:端口 的形式`},
		{badPort, `"80000" is not a port: must be a number from 1 to 65535`, `"80000" 不是端口：应为 1 到 65535 的数字`},
		{
			&fs.PathError{Op: "CopyFS", Path: "/d", Err: &fs.PathError{Op: "write", Path: "/d", Err: syscall.ENOSPC}},
			"/d: the disk is full", "/d：磁盘空间不足",
		},
		{noFile, "/no/such/program: there is no such file or folder", "/no/such/program：文件或文件夹不存在"},
		{fmt.Errorf("x: %w", failed), "x: exit code 4", "x: 退出码 4"},
		{killed, "ended by signal killed", "被信号 killed 终止"},
		{user.UnknownUserError("ann"), "there is no user ann", "没有用户 ann"},
		{
			i18n.Mistakef("应为 %s 之一", "must be one of %s", i18n.Listing([]string{"a", "b"})),
			"must be one of a, b", "应为 a、b 之一",
		},
		{outside, "../x: it leads out of the folder", "../x：路径指向这个文件夹之外"},
		{syscall.ENOTEMPTY, "the folder is not empty", "文件夹不是空的"},
		{
			i18n.Mistakef("读取 %v", "reading %v", missing),
			"reading " + dir + "/x: there is no such file or folder", "读取 " + dir + "/x：文件或文件夹不存在",
		},
		{errors.New("other"), "other", "other"},
	} {
		if en, zh := i18n.ErrorText(i18n.English, tc.err), i18n.ErrorText(i18n.Chinese, tc.err); en != tc.en || zh != tc.zh {
			t.Errorf("%v: %q, %q; want %q, %q", tc.err, en, zh, tc.en, tc.zh)
		}
	}
}
