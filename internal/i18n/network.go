package i18n

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// networkErrorText is [systemErrorText] for an error of the network.
func networkErrorText(err error, l Lang) string {
	colon := Phrase{"：", ": "}.In(l)
	switch e := err.(type) { //nolint:errorlint // errors around it are kept
	case *net.OpError:
		return ofOperation(e, l)
	case *net.AddrError:
		if e.Err == invalidPort {
			return fmt.Sprintf(Phrase{"%q 不是端口：应为 1 到 65535 的数字", "%q is not a port: must be a number from 1 to 65535"}.In(l), e.Addr)
		}
		return fmt.Sprintf(Phrase{"%q 应写成 主机:端口 的形式", "%q must be like host:port"}.In(l), e.Addr)
	case *net.DNSError:
		return e.Name + colon + ofLookup(e, l)
	case *tls.CertificateVerificationError:
		return ofCertificate(e.Err, l)
	case tls.RecordHeaderError:
		return ErrorText(l, http.ErrSchemeMismatch)
	}
	return ""
}

// invalidPort is what package net says of a number that is too large for a port.
const invalidPort = "invalid port"

// ofOperation says what failed on a connection.
func ofOperation(e *net.OpError, l Lang) string {
	switch e.Op {
	case "proxyconnect", "socks connect": // as net/http calls them
		return Phrase{"连接不上代理：", "the proxy cannot be reached: "}.In(l) + ErrorText(l, e.Err)
	case "remote error", "local error": // an alert of TLS
		return Phrase{"没有建立加密连接（TLS）", "no encrypted connection (TLS) could be made"}.In(l)
	}
	if e.Addr == nil {
		return ErrorText(l, e.Err)
	}
	return e.Addr.String() + Phrase{"：", ": "}.In(l) + ErrorText(l, e.Err)
}

// ofLookup says why the address of a host was not found. The reasons that a resolver gives are no help to a person.
func ofLookup(e *net.DNSError, l Lang) string {
	switch {
	case e.IsNotFound:
		return Phrase{"找不到这个主机", "there is no such host"}.In(l)
	case e.IsTimeout:
		return Phrase{"查询 DNS 超时", "the DNS lookup took too long"}.In(l)
	}
	return Phrase{"查询 DNS 失败", "the DNS lookup failed"}.In(l)
}

// ofCertificate says why the certificate of a server is not accepted.
func ofCertificate(err error, l Lang) string {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Phrase{"服务器的证书已过期，或这台机器的时间不对", "the server's certificate has expired, or the clock of this machine is wrong"}.In(l)
	case errors.As(err, new(x509.HostnameError)):
		return Phrase{"服务器的证书属于另一个主机", "the server's certificate is for another host"}.In(l)
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return Phrase{"服务器的证书由这台机器不信任的机构签发，中间可能有代理", "this machine does not trust who signed the server's certificate; there may be a proxy in between"}.In(l)
	}
	return Phrase{"服务器的证书不受信任", "the server's certificate is not trusted"}.In(l)
}
