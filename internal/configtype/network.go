package configtype

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// networkErrorText is [systemErrorText] for an error of the network.
func networkErrorText(err error, l language) string {
	colon := [...]string{"：", ": "}[l]
	switch e := err.(type) { //nolint:errorlint // errors around it are kept
	case *net.OpError:
		return ofOperation(e, l)
	case *net.AddrError:
		if e.Err == invalidPort {
			return fmt.Sprintf([...]string{"%q 不是端口：应为 1 到 65535 的数字", "%q is not a port: must be a number from 1 to 65535"}[l], e.Addr)
		}
		return fmt.Sprintf([...]string{"%q 应写成 主机:端口 的形式", "%q must be like host:port"}[l], e.Addr)
	case *net.DNSError:
		return e.Name + colon + ofLookup(e, l)
	case *tls.CertificateVerificationError:
		return ofCertificate(e.Err, l)
	case tls.RecordHeaderError:
		return errorText(http.ErrSchemeMismatch, l)
	}
	return ""
}

// invalidPort is what package net says of a number that is too large for a port.
const invalidPort = "invalid port"

// ofOperation says what failed on a connection.
func ofOperation(e *net.OpError, l language) string {
	switch e.Op {
	case "proxyconnect", "socks connect": // as net/http calls them
		return [...]string{"连接不上代理：", "the proxy cannot be reached: "}[l] + errorText(e.Err, l)
	case "remote error", "local error": // an alert of TLS
		return [...]string{"没有建立加密连接（TLS）", "no encrypted connection (TLS) could be made"}[l]
	}
	if e.Addr == nil {
		return errorText(e.Err, l)
	}
	return e.Addr.String() + [...]string{"：", ": "}[l] + errorText(e.Err, l)
}

// ofLookup says why the address of a host was not found. The reasons that a resolver gives are no help to a person.
func ofLookup(e *net.DNSError, l language) string {
	switch {
	case e.IsNotFound:
		return [...]string{"找不到这个主机", "there is no such host"}[l]
	case e.IsTimeout:
		return [...]string{"查询 DNS 超时", "the DNS lookup took too long"}[l]
	}
	return [...]string{"查询 DNS 失败", "the DNS lookup failed"}[l]
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
