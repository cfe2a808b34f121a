package pgtest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// superuser is the role of [Server.URL].
const superuser = "magpie"

// settings are those of each server. Commits are durable, as they are by default. After a crash one call flushes the
// disk, in place of one for each of the 300 files of each database.
var settings = []string{
	"listen_addresses = '127.0.0.1'",
	"max_connections = 300", // of all tests of a run at once
	"recovery_init_sync_method = syncfs",
	"dynamic_shared_memory_type = mmap", // in the folder: what a killed server leaves goes with it
	"log_line_prefix = '%m [%p] %a %d '",
}

// inChineseOrder are the arguments of initdb of most tests.
var inChineseOrder = []string{"--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=zh"}

var errNotInstalled = errors.New("PostgreSQL is not installed: ./scripts/test installs it")

// cluster is what a server has on the disk.
type cluster struct {
	folder   string
	binaries string
	port     int
	owner    *syscall.Credential // nil: the user of the test
}

// newCluster makes a folder with an empty cluster.
func newCluster(ctx context.Context, c Config) (_ *cluster, err error) {
	binaries, err := findBinaries()
	if err != nil {
		return nil, err
	}
	owner, err := findOwner()
	if err != nil {
		return nil, err
	}
	// Not in the folder of a test, in which another user finds nothing.
	folder, err := os.MkdirTemp("", "magpie-postgres-")
	if err != nil {
		return nil, err
	}
	s := &cluster{folder: folder, binaries: binaries, owner: owner}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	if err := s.chown(folder); err != nil {
		return nil, err
	}
	if err := s.initialize(ctx, c); err != nil {
		return nil, err
	}
	return s, nil
}

// findBinaries finds the folder with the program postgres: the one in PATH, or the newest that Debian has installed.
func findBinaries() (folder string, err error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		// A link leads to the folder of all others.
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	newest := 0
	list, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	for _, path := range list {
		dir := filepath.Dir(path)
		if version, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil && version > newest {
			newest, folder = version, dir
		}
	}
	if folder == "" {
		return "", errors.Join(errNotInstalled, err)
	}
	return folder, nil
}

// findOwner finds the user of a server, which refuses to run as root.
func findOwner() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func (s *cluster) chown(path string) error {
	if s.owner == nil {
		return nil
	}
	return os.Chown(path, int(s.owner.Uid), int(s.owner.Gid))
}

func (s *cluster) data() string    { return filepath.Join(s.folder, "data") }
func (s *cluster) logFile() string { return filepath.Join(s.folder, "log") }

// Certificate is the file with the certificate of a server with [Config.TLS], for sslrootcert.
func (s *cluster) Certificate() string { return filepath.Join(s.data(), "server.crt") }

func (s *cluster) initialize(ctx context.Context, c Config) error {
	arguments := c.InitDB
	if arguments == nil {
		arguments = inChineseOrder
	}
	// What was initialized need not survive a crash: a server that starts syncs what it changes.
	arguments = append([]string{"-D", s.data(), "-U", superuser, "-E", "UTF8", "-A", "trust", "--no-sync"}, arguments...)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if out, err := s.command(ctx, "initdb", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, bytes.TrimSpace(out))
	}
	if err := s.appendTo("postgresql.conf", append(settings, "unix_socket_directories = '"+s.folder+"'")); err != nil {
		return err
	}
	if c.TLS {
		if err := s.certify(); err != nil {
			return err
		}
		if err := s.appendTo("postgresql.conf", []string{"ssl = on"}); err != nil {
			return err
		}
	}
	if c.Access != nil {
		content := strings.Join(c.Access, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return s.appendTo("postgresql.conf", c.Settings)
}

// command is a program of PostgreSQL, run by its owner. The environment of the test stays behind: what it preloads may
// keep commits from the disk.
func (s *cluster) command(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.binaries, name), arguments...)
	cmd.Dir = s.folder
	cmd.Env = []string{"HOME=" + s.folder, "PATH=" + s.binaries + ":/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	return cmd
}

// forgetMemory removes the shared memory by whose users a killed server is known to live on.
func (s *cluster) forgetMemory() error {
	data, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return nil //nolint:nilerr // it has removed both
	}
	lines := strings.Split(string(data), "\n")
	if len(lines) < 7 {
		return nil
	}
	fields := strings.Fields(lines[6]) // its key and its number
	if len(fields) < 2 {
		return nil
	}
	id, err := strconv.Atoi(fields[1])
	if err != nil {
		return err
	}
	if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) {
		return fmt.Errorf("remove shared memory: %w", err)
	}
	return nil
}

func (s *cluster) appendTo(file string, lines []string) error {
	f, err := os.OpenFile(filepath.Join(s.data(), file), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	return errors.Join(err, f.Close())
}

// certify makes a certificate for 127.0.0.1 that is signed by itself.
func (s *cluster) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		s.write("server.crt", &pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		s.write("server.key", &pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

func (s *cluster) write(file string, block *pem.Block) error {
	path := filepath.Join(s.data(), file)
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		return err
	}
	return s.chown(path)
}
