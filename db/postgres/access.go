package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"magpie/internal/i18n"
)

// Codes of errors about who may use the database, and whether it can be used now (page "PostgreSQL Error Codes").
const (
	invalidAuthorization  = "28000"
	invalidPassword       = "28P01"
	unknownDatabase       = "3D000"
	unknownSchema         = "3F000"
	insufficientPrivilege = "42501"
	readOnly              = "25006"
	tooManyConnections    = "53300"
	cannotConnectNow      = "57P03"
)

// accessError is why the database cannot be used, and what to do about it, in place of what the driver says.
type accessError struct{ say, cause error }

func (e *accessError) Error() string { return e.say.Error() }

// In is the error message in a language.
func (e *accessError) In(l i18n.Lang) string { return i18n.ErrorText(l, e.say) }

func (e *accessError) Unwrap() error { return e.cause }

// explainAccess returns an [accessError] if err means that the database cannot be used as configured; otherwise err.
func explainAccess(c *pgx.ConnConfig, err error) error {
	if err == nil || errors.As(err, new(*accessError)) {
		return err
	}
	say := refusal(c, err)
	if say == nil && errors.As(err, new(*pgconn.ConnectError)) {
		say = failure(c, err)
	}
	if say == nil {
		return err
	}
	return &accessError{say, err}
}

// refusal explains what the server has answered; nil = something else.
func refusal(c *pgx.ConnConfig, err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return nil
	}
	switch e.Code {
	case invalidPassword:
		return i18n.Mistakef("PostgreSQL 不接受用户 %s 的密码：改正 [db] url 里的密码，或密码文件、PGPASSWORD 里的",
			"PostgreSQL does not accept the password of the user %s: correct it in [db] url, or in the password file or PGPASSWORD",
			c.User)
	case invalidAuthorization:
		advice := i18n.Mistakef("改正 [db] url 里的用户，或让数据库管理员在 pg_hba.conf 里允许它连接",
			"correct the user in [db] url, or have the database's administrator let it in, in pg_hba.conf")
		if !encrypts(c) {
			advice = i18n.Mistakef("如果服务器要求 TLS，在 [db] url 里写 sslmode=require；否则%v",
				"if the server requires TLS, write sslmode=require in [db] url; otherwise %v", advice)
		}
		return i18n.Mistakef("PostgreSQL 不让用户 %s 使用数据库 %s（%s）：%v",
			"PostgreSQL does not let the user %s into the database %s (%s): %v", c.User, c.Database, e.Message, advice)
	case unknownDatabase:
		return i18n.Mistakef("PostgreSQL 里没有数据库 %[1]s：改正 [db] url，或者创建它：CREATE DATABASE %[1]s OWNER %[2]s ENCODING 'UTF8' TEMPLATE template0",
			"PostgreSQL has no database %[1]s: correct [db] url, or create it: CREATE DATABASE %[1]s OWNER %[2]s ENCODING 'UTF8' TEMPLATE template0",
			c.Database, c.User)
	case insufficientPrivilege:
		return lacksRights(c, e.Message)
	case unknownSchema:
		return noSchema(c)
	case readOnly:
		return errStandby
	case tooManyConnections:
		return i18n.Mistakef("PostgreSQL 的连接数满了：调大它的 max_connections，鹊桥最多用 %d 个",
			"PostgreSQL has no connection left: raise its max_connections; Magpie uses up to %d", writers+readers)
	case cannotConnectNow, adminShutdown, crashShutdown:
		return i18n.Mistakef("PostgreSQL 正在启动或关闭：稍后再试", "PostgreSQL is starting or stopping: try again in a moment")
	}
	return nil
}

// refusedTLS is in an error for which the driver has no type.
const refusedTLS = "server refused TLS connection"

// failure explains why there is no connection on which the server could answer.
func failure(c *pgx.ConnConfig, err error) error {
	switch {
	case strings.Contains(err.Error(), refusedTLS):
		return i18n.Mistakef("PostgreSQL 服务器没有开启 TLS：在服务器上开启，或在 [db] url 里改 sslmode",
			"the PostgreSQL server has no TLS: turn it on there, or change sslmode in [db] url")
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return i18n.Mistakef("不信任 PostgreSQL 服务器的证书（%v）：在 [db] url 里用 sslrootcert=/路径 指定它的根证书，主机名要和证书一致",
			"the certificate of the PostgreSQL server is not trusted (%v): name its root certificate with sslrootcert=/path in [db] url; the host must be one of the certificate's",
			errors.Unwrap(asType[*tls.CertificateVerificationError](err)))
	}
	why := error(i18n.Mistakef("没有回答", "no answer"))
	if e, ok := errors.AsType[*net.OpError](err); ok {
		why = e.Err
	} else if e, ok := errors.AsType[*net.DNSError](err); ok {
		why = e
	}
	return i18n.Mistakef("连不上 %s 的 PostgreSQL（%v）：检查 [db] url 里的主机和端口，以及服务器是否在运行、有没有被防火墙拦住",
		"PostgreSQL at %s cannot be reached (%v): check host and port in [db] url, whether the server runs, and firewalls",
		net.JoinHostPort(c.Host, fmt.Sprint(c.Port)), why)
}

func asType[E error](err error) E {
	e, _ := errors.AsType[E](err)
	return e
}

// encrypts reports whether TLS is tried.
func encrypts(c *pgx.ConnConfig) bool {
	for _, f := range c.Fallbacks {
		if f.TLSConfig != nil {
			return true
		}
	}
	return c.TLSConfig != nil
}

// lacksRights says what a role needs.
func lacksRights(c *pgx.ConnConfig, what string) error {
	return i18n.Mistakef("用户 %[1]s 在数据库 %[2]s 里的权限不够（%[3]s）：让它成为所有者：ALTER DATABASE %[2]s OWNER TO %[1]s，或改用创建这些表的用户",
		"the user %[1]s has too few rights in the database %[2]s (%[3]s): make it the owner, ALTER DATABASE %[2]s OWNER TO %[1]s, or use the one that made the tables",
		c.User, c.Database, what)
}

// noSchema says that the tables have no place.
func noSchema(c *pgx.ConnConfig) error {
	return i18n.Mistakef("用户 %[1]s 的 search_path 里没有它能用的 schema：创建并授权，或改正 search_path（ALTER ROLE %[1]s SET search_path，或 [db] url 里的 options）",
		"the search_path of the user %[1]s names no schema that it may use: create it, grant its use, or correct the search_path (ALTER ROLE %[1]s SET search_path, or options in [db] url)",
		c.User)
}

// errStandby means that the server only follows another one.
var errStandby = i18n.Mistakef(
	"PostgreSQL 服务器只能读：[db] url 要指向主库，或列出所有服务器并加上 target_session_attrs=read-write",
	"the PostgreSQL server can only be read: name the primary in [db] url, or all servers and target_session_attrs=read-write")

const describeServer = `SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),
	COALESCE(current_schema(), '')`

// checkServer connects, and refuses a server that the statements are not made for.
func (d *DB) checkServer(ctx context.Context) error {
	var version int
	var encoding, schema string
	if err := d.read.QueryRowContext(ctx, describeServer).Scan(&version, &encoding, &schema); err != nil {
		return err
	}
	if version < 150000 {
		return i18n.Mistakef("PostgreSQL 的版本是 %d：至少要 15", "PostgreSQL has version %d: 15 or newer is needed", version/10000)
	}
	if encoding != "UTF8" {
		return i18n.Mistakef("数据库 %s 的编码是 %s：需要新建一个 UTF8 的数据库：CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
			"the database %s has the encoding %s: create one with UTF8: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
			d.config.Database, encoding)
	}
	if schema == "" {
		return noSchema(d.config)
	}
	return nil
}

// selectDenied names a table or sequence that the role may not use as this program does, and says whether the server only
// follows another one, and when it confirms commits.
const selectDenied = `SELECT COALESCE(MIN(relname::text), ''), (SELECT CAST(pg_is_in_recovery() AS INTEGER)),
	(SELECT current_setting('synchronous_commit')) FROM pg_class
	WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND
		(relkind IN ('r', 'p') AND NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT') AND
			has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')) OR
		relkind = 'S' AND NOT has_sequence_privilege(oid, 'USAGE'))`

// checkRights refuses a role or a server with which the first write would fail.
func (d *DB) checkRights(ctx context.Context) error {
	var denied, commits string
	var standby int
	if err := d.read.QueryRowContext(ctx, selectDenied).Scan(&denied, &standby, &commits); err != nil {
		return fmt.Errorf("rights in the database: %w", err)
	}
	switch {
	case denied != "":
		return lacksRights(d.config, denied)
	case standby != 0:
		return errStandby
	case commits == "off": // what is acknowledged to the platform must survive a loss of power
		return i18n.Mistakef("PostgreSQL 在写到磁盘之前就确认提交（synchronous_commit = off），消息可能丢失：ALTER DATABASE %s SET synchronous_commit = on",
			"PostgreSQL confirms commits before they are on its disk (synchronous_commit = off), so messages may get lost: ALTER DATABASE %s SET synchronous_commit = on",
			d.config.Database)
	}
	return nil
}
