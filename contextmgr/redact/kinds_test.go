package redact

import (
	"encoding/base64"
	"strings"
	"testing"
)

// discord is a token of a bot; zhipu is a key in two parts.
var (
	discord = base64.RawURLEncoding.EncodeToString([]byte("123456789012345678")) + "." + body(6) + "." + body(38)
	zhipu   = hexBody(32) + "." + body(16)
)

// keysGo are texts of which the part in 〈〉 opens something.
var keysGo = []string{
	// of services
	"〈xai-" + body(80) + "〉", "〈nvapi-" + body(64) + "〉", "〈pplx-" + body(48) + "〉", "〈r8_" + body(37) + "〉",
	"〈csk-" + strings.ToLower(body(48)) + "〉", "〈fw_" + body(24) + "〉", "〈tvly-dev-" + body(32) + "〉",
	"〈fc-" + hexBody(32) + "〉", "〈lsv2_pt_" + hexBody(32) + "_" + hexBody(10) + "〉", "〈sk_" + hexBody(48) + "〉",
	"〈app-" + body(24) + "〉", "〈pat_" + body(64) + "〉", "〈AKLT" + body(43) + "〉", "〈AKTP" + body(40) + "==〉",
	"〈ark-550e8400-e29b-41d4-a716-446655440000-" + hexBody(5) + "〉",
	"〈bce-v3/ALTAK-" + body(21) + "/" + hexBody(40) + "〉", "〈ALTAK" + body(21) + "〉",
	"〈bce-auth-v1/" + hexBody(32) + "/2026-11-28T01:02:03Z/1800/host;x-bce-date/" + hexBody(64) + "〉",
	"access_token 〈24." + hexBody(32) + ".2592000.1485516651.282335-8574074〉", "〈" + discord + "〉",
	"Bot 〈" + discord + "〉 x", "`〈" + discord + "〉`", "〈mfa." + body(60) + "〉",
	"https://discord.com/api/webhooks/123456789012345678/〈" + body(68) + "〉",
	"https://discordapp.com/api/v10/webhooks/123456789012345678/〈" + body(68) + "〉",
	"https://x.blob.core.windows.net/c/f?sv=2022-11-02&sr=b&sig=〈" + body(40) + "%3D〉&se=2026",
	"SharedAccessSignature sr=x&sig=〈" + body(43) + "%3d〉&se=1", "〈" + body(3) + "8Q~" + body(34) + "〉",
	"key 〈" + body(76) + "AZDO" + body(4) + "〉", "〈" + body(76) + "+ASt" + body(6) + "==〉",
	"SharedAccessKey=〈" + body(43) + "=〉", "〈" + zhipu + "〉", "ZHIPU 〈" + zhipu + "〉。", "〈xoxc-" + body(40) + "〉",
	"〈xoxd-" + body(40) + "〉", "〈xoxe.xoxp-1-" + body(60) + "〉", "〈AQ.Ab" + body(50) + "〉", "〈1//0g" + body(60) + "〉",
	"〈STS." + body(30) + "〉", "〈ATBB" + body(32) + "〉", "〈ntn_" + body(46) + "〉", "〈secret_" + body(43) + "〉",
	"〈figd_" + body(40) + "〉", "〈pat" + body(14) + "." + hexBody(64) + "〉",
	"〈PMAK-" + hexBody(24) + "-" + hexBody(34) + "〉", "〈sntrys_" + body(60) + "〉",
	"〈NRAK-" + strings.ToUpper(body(27)) + "〉", "〈key-" + hexBody(32) + "〉", "〈SK" + hexBody(32) + "〉",
	"〈sq0atp-" + body(22) + "〉", "〈vercel_blob_rw_" + body(30) + "〉", "〈sbp_" + hexBody(40) + "〉",
	"〈pscale_tkn_" + body(43) + "〉", "〈nfp_" + body(36) + "〉", "〈fm2_" + body(60) + "〉",
	// of a Feishu app
	"Encrypt Key: 〈" + body(32) + "〉", "Encrypt Key 〈" + body(32) + "〉", "encrypt_key = \"〈" + body(32) + "〉\"",
	"encryptKey: '〈" + body(32) + "〉'", "FEISHU_ENCRYPT_KEY=〈" + body(32) + "〉",
	"Encrypt Key\n〈" + body(32) + "〉\nVerification Token\n〈" + body(32) + "〉", "Encrypt Key：\n\n〈" + body(32) + "〉",
	"| Encrypt Key | 〈" + body(32) + "〉 |",
	// on the line below
	"Password:\n〈hunter2〉", "password:\r\n  〈hunter2〉\r\n", "密码：\n〈abc123〉", "密码\n〈abc123〉",
	"账号\nadmin\n密码\n〈123456〉\n", "**密码**：\n\n`〈abc123〉`", "**Password:**\n\n```\n〈hunter2〉\n```",
	"Password is:\n> 〈hunter2〉", "密码：\n- 〈abc123〉", "API key:\n〈" + body(24) + "〉", "Token\n〈" + body(24) + "〉",
	"\"password\":\n  \"〈hunter2〉\",", "the password\n〈a1b2c3d4〉", "密码是：\n〈abc123〉", "授权码：〈abcdefghijklmnop〉",
	"密碼：〈abc123〉", "私钥：〈" + body(20) + "〉", "secret-key: 〈" + body(20) + "〉", "Private Key: 〈" + body(20) + "〉",
	"auth_key=〈" + body(20) + "〉", "| Password | 〈hunter2〉 |", "| 密码 | 〈abc123〉 |",
	// in command lines
	"curl -u admin:〈hunter2〉 https://a.example", "curl -uadmin:〈hunter2〉 https://a.example",
	"curl -sSu 'admin:〈hunter2〉' https://a.example", "curl -X POST -u \"admin:〈hunter two〉\" https://a.example",
	"/usr/bin/curl --user admin:〈hunter2〉 x", "curl --user=admin:〈hunter2〉 x",
	"curl 'https://a.example/?a=1&b=2;c' \\\n  -H 'X: y' \\\n  -u admin:〈hunter2〉 \\\n  -d x",
	"curl -x p:1 -U me:〈hunter2〉 https://a.example", `{"command":"curl -u \"admin:〈hunter2〉\" https://a.example"}`,
	`["curl", "-s", "-u", "admin:〈hunter2〉", "https://a.example"]`, "用 `curl -u admin:〈hunter2〉 x` 试",
	"curl a | curl -u b:〈c1〉 d", "curl -u a:〈b〉 c", "x=$(curl -u admin:〈hunter2〉 x)",
	"sshpass -p 〈hunter2〉 ssh me@host", "sshpass -p〈hunter2〉 ssh me@host", "sshpass -p '〈hunter two〉' ssh me@host",
	"sudo sshpass -p \"〈pw〉\" scp a b", "mysql -uroot -p〈hunter2〉 db", "mysqldump -h x -p'〈hunter 2〉' db",
	"redis-cli -h x -a 〈hunter2〉 ping", "docker login -u me -p 〈hunter2〉 x", "mongosh -u me -p 〈hunter2〉",
	"smbclient -U me%〈hunter2〉 //a/b", "ldapsearch -x -w 〈hunter2〉 -b dc", "http -a me:〈hunter2〉 a.example",
	"7z x -p〈hunter2〉 a.7z", "unzip -P 〈hunter2〉 a.zip", "keytool -storepass 〈changeit〉 -list",
	// cut off
	"it is 〈sk-ant-api03-ab1〉…", "AKIA〈〉…", "〈AKIAIOSFODNN7EX〉…", "〈ghp_abc1defg2〉… and so on",
}

// keysStay are texts that look like one of them, and open nothing.
var keysStay = []string{
	"password: yes", "password: none", "password: required", "Password:\nrequired", "password:\n  type: string",
	"password := os.Getenv(\"X\")", "password:\n  secretKeyRef:\n    name: x",
	"To reset the password:\nOpen the page and press it.", "密码：\n见上", "密码\n2024 年的计划", "## Password\nchapter one",
	"Forgot password\n2026-11-28", "password:\n\n---\n", "password:\n", "Token\n550e8400-e29b-41d4-a716-446655440000",
	"token\n" + hexBody(40), "the token\nis new", "Encrypt Key", "Encrypt Key is optional", "encrypt key rotation",
	"encryptKey: string", "Encrypt Key：选填", "no private key\nwas found", "curl -u", "curl -u admin https://a.example",
	"curl -u $USER:$PASS2 x", "curl -u \"${U}:${P}\" x", "curl -u user:<password> x", "use curl -u to log in",
	"curl https://a.example:8080/x", "docker run -u 1000:1000 x", "curl x | docker run -u 1000:1000 y",
	"curl x; docker run -u 1000:1000 y", "sort -u a:b", "libcurl -u a:b", "curl.exe.md -u", "sshpass -p \"$PW\" ssh x",
	"sshpass -f file ssh x", "mysql -u root -p db", "ssh -p 2222 host", "mkdir -p a/b",
	"docker login -u me --password-stdin x", "cp -p a b", "zip -r a.zip b", "git push -u origin main",
	"xai-is-a-company", "nvapi-docs", "xai-", "fc-match", "app-settings-page", "dataset-of-the-year", "pattern",
	"patch", "SKU", "SK-II", "key-value", "AKLT", "24.5", "24.04.1", "mfa.enabled", "sig=abc", "design=true", "figd_",
	"a.b.c", "www.example.com.cn", "MTIzNDU2.Nzg5MDEy.x", hexBody(32) + ".tar.gz", hexBody(32) + ".0123456789abcd",
	hexBody(32) + ".jpeg", "session_" + body(24), "toolu_" + body(24), "om_" + hexBody(32),
	"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk" +
		"+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
	"integrity sha512-" + strings.ReplaceAll(body(86), "J0", "J/") + "==",
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + body(43) + " me@host", "h1:" + body(43) + "=", "sk-…", "AKIA…", "t-…",
	"built-in…", "the task-1…", "see sk-learn…", "password: !vault", "password: await ask()", "cat password | md5sum",
	"password | base64", "| password | required |", "| token | 128000 |", "| `password` | string |",
	"echo $PASSWORD | sha256sum",
}

func TestKeysOfEachKind(t *testing.T) {
	for _, marked := range keysGo {
		text := strings.NewReplacer("〈", "", "〉", "").Replace(marked)
		var want strings.Builder
		rest := strings.ReplaceAll(marked, "〈〉", "")
		for {
			before, after, found := strings.Cut(rest, "〈")
			want.WriteString(before)
			if !found {
				break
			}
			_, rest, _ = strings.Cut(after, "〉")
			want.WriteString("[]")
		}
		for _, p := range []Policy{Keys, All()} {
			got := strings.NewReplacer(APIKey.mark(), "[]", Secret.mark(), "[]").Replace(Text(text, p))
			if got != want.String() {
				t.Errorf("%q became %q, want %q", text, got, want.String())
			}
		}
	}
	for _, text := range keysStay {
		if got := Text(text, Keys); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
