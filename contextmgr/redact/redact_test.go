package redact

import (
	"strings"
	"testing"
)

// body is a random part of a key. Keys in tests are composed, so that scanners do not report them.
func body(n int) string {
	return strings.Repeat("a1B2c3D4e5F6g7H8i9J0", n/20+1)[:n]
}

func hexBody(n int) string { return strings.Repeat("0a1b2c3d4e5f6789", n/16+1)[:n] }

// goes are texts of which the part in 〈〉 is redacted.
var goes = map[Policy][]string{
	Email: {
		"〈bob@example.com〉", "写信给〈zhang.san+work@example.com.cn〉。", "mailto:〈a_b-c@x-y.io〉?subject=1",
		"<〈Bob@Example.COM〉>", "邮箱：〈ｂｏｂ＠ｅｘａｍｐｌｅ．ｃｏｍ〉，谢谢",
		"〈a@b.cn〉,〈c@d.cn〉;〈e@f.cn〉", "'〈o'neil@example.org〉'", "end 〈x@example.com〉.", "〈13812345678@139.com〉",
		"〈u@xn--fiqs8s.xn--fiqs8s〉",
		"git clone https://〈bob@example.com〉/x.git", "```\nmail 〈bob@example.com〉\n```",
	},
	Phone: {
		"打〈13812345678〉找我", "〈138 1234 5678〉", "〈138-1234-5678〉", "〈１３８１２３４５６７８〉", "〈１３８－１２３４－５６７８〉", "〈138　1234　5678〉",
		"电话〈138-12345678〉", "手机 〈138 12345678〉",
		"〈+8613812345678〉", "〈+86 138 1234 5678〉", "〈+86-138-1234-5678〉", "〈（+86）13812345678〉", "〈(+86) 138 1234 5678〉",
		"〈＋８６ １３８ １２３４ ５６７８〉", "〈8613812345678〉", "〈86-13812345678〉",
		"〈008613812345678〉", "〈0086 13812345678〉", "〈0086-138-1234-5678〉", "〈0086 138 1234 5678〉", "手机号：〈19912345678〉，",
		"(〈13812345678〉)", "〈13812345678〉/〈13912345678〉", "〈13812345678〉 〈13912345678〉",
		"〈138 1234 5678〉 〈139 1234 5678〉", "〈010-62345678〉", "〈(010) 62345678〉", "〈（021）6234 5678〉", "〈0571-88886666〉",
		"〈0571 8888 6666〉", "〈+86 10 6234 5678〉", "〈+86 0571 8888 6666〉", "座机：〈62345678〉",
		"〈+1 (415) 555-2671〉", "〈+14155552671〉", "〈(415) 555-2671〉", "〈415-555-2671〉", "〈1-415-555-2671〉",
		"〈415.555.2671〉", "call 〈415 555 2671〉", "Phone: 〈4155552671〉", "tel 〈415 555 2671〉 x",
		"〈555-123-4567〉", "〈(555) 123-4567〉", "〈+1-555-123-4567〉", "〈123-456-7890〉", "〈+44 7911 123456〉",
		"〈+44 20 7946 0958〉", "〈+49 (0)30 1234567〉", "〈+33 1 23 45 67 89〉", "〈+81-3-1234-5678〉", "〈+852 2345 6789〉",
		"〈+7 495 123-45-67〉", "mobile no. 〈5551234567〉",
		"手机〈13812345678〉邮箱", "let phone = \"〈13812345678〉\"", "?phone=〈13812345678〉&x=1",
	},
	CreditCard: {
		"〈4111111111111111〉", "〈4111 1111 1111 1111〉", "〈4111-1111-1111-1111〉", "〈４１１１１１１１１１１１１１１１〉",
		"〈４１１１　１１１１　１１１１　１１１１〉", "〈4111 - 1111 - 1111 - 1111〉", "卡号〈4111111111111111〉。", "card〈4111111111111111〉",
		"〈5555555555554444〉", "〈2223003122003222〉", "〈378282246310005〉", "〈3782 822463 10005〉", "〈6011111111111117〉",
		"〈3530111333300000〉", "〈30569309025904〉", "〈3056 930902 5904〉", "〈4222222222222〉",
		"〈6759649826438453〉", "2024 〈4111 1111 1111 1111〉 12", "1 〈5555555555554444〉 2",
		"〈4111111111111111〉,〈5555555555554444〉", "exp 12/26 〈4111 1111 1111 1111〉 123", "```\n〈4111111111111111〉\n```",
		// mistyped, but grouped as on a card
		"〈4532-1234-5678-9012〉", "〈4532 1234 5678 9012〉", "〈４５３２－１２３４－５６７８－９０１２〉", "〈４５３２　１２３４　５６７８　９０１２〉",
		"卡号：〈4532-1234-5678-9012〉。", "〈4532 - 1234 - 5678 - 9012〉", "card 〈4532–1234–5678–9012〉, exp 12/26",
		"我的信用卡是〈4532-1234-5678-9012〉，有效期 12/27", "1 〈4532-1234-5678-9012〉 2", "〈5105 1051 0510 5101〉",
	},
	BankCard: {
		"〈" + bank19 + "〉", "银行卡：〈" + bank16 + "〉", "〈" + grouped(bank19, ' ') + "〉", "〈" + grouped(bank19, '-') + "〉",
		"〈" + grouped(bank16, ' ') + "〉",
		"〈" + wide(bank19) + "〉", "尾号前的〈" + bank19 + "〉工商银行", "〈" + bank19[:6] + " " + bank19[6:] + "〉",
	},
	CNID: {
		"〈" + idX + "〉", "身份证：〈" + id18 + "〉", "身份证号码〈" + id18 + "〉。", "〈" + strings.ToLower(idX) + "〉", "〈" +
			wide(id18) + "〉", "〈" + wide(idX) + "〉",
		"〈" + id18[:6] + " " + id18[6:14] + " " + id18[14:] + "〉", "〈" + id18[:6] + "-" + id18[6:14] + "-" + id18[14:] +
			"〉", "〈" + idX[:6] + " " + idX[6:10] + " " + idX[10:14] + " " + idX[14:] + "〉", "〈" + idX[:17] + " X〉",
		"ID〈" + id18 + "〉", "12 〈" + id18 + "〉 34", "身份证号：〈110101900307461〉", "〈11010519491231002X〉",
		"〈440524188001010014〉", "张三,〈" + id18 + "〉" + ",男",
	},
	SSN: {
		"〈078-05-1120〉", "SSN: 〈078-05-1120〉", "〈078 05 1120〉", "〈０７８－０５－１１２０〉", "ssn 〈078051120〉",
		"Social Security Number: 〈078051120〉", "my number is 〈123-45-6789〉.", "〈987-65-4321〉",
	},
	IP: {
		"连 〈8.8.4.4〉 和 〈2001:db8::1〉", "〈192.168.1.10〉:8080", "http://〈10.0.0.5〉/x", "〈10.1.2.0〉/24", "〈８．８．４．４〉",
		"[〈2001:db8::1〉]:443", "IP：〈2001:db8:85a3::8a2e:370:7334〉", "地址〈1.2.3.4〉。", "root@〈1.2.3.4〉",
		"〈fe80::1ff:fe23:4567:890a〉%eth0", "〈::ffff:8.8.4.4〉", "〈2001:0db8:85a3:0000:0000:8a2e:0370:7334〉",
		"from 〈1.2.3.4〉-〈1.2.3.9〉", "ip=〈1.2.3.4〉,", "dial tcp 〈1.2.3.4〉:443: i/o timeout", "〈fd00::1〉",
		"end 〈8.8.4.4〉.",
		"lookup on 〈1.2.3.4〉:53: no such host", "```\n127.0.0.1 1.2.3.4\n```\n〈1.2.3.4〉",
	},
	Passport: {
		"护照 〈E12345678〉", "护照号码：〈EA1234567〉", "护照号是〈G12345678〉。", "护照 号码 〈E12345678〉", "Passport No.: 〈E12345678〉",
		"passport number is: 〈AB1234567〉", "Passport No. 〈E12345678〉", "passport number: 〈123456789〉",
		"passport 〈A 1234 5678〉", "护照：〈Ｅ１２３４５６７８〉", "PASSPORT #〈X1234567〉",
	},
	Secret: {
		"password: 〈hunter2〉", "Password=〈hunter2〉&next=1", "passwd 〈hunter2〉", "密码：〈MyP@ssw0rd〉", "密码是〈abc123〉，",
		"密码〈123456〉", "密码 〈abc123〉。", "密码为:〈abcd〉", "口令：〈sesame〉", "验证码 〈482913〉", "验证码：〈4829〉",
		`"password": "〈correct horse battery〉"`, `{"db_password":"〈x9!kQ〉","a":1}`, `\"password\":\"〈hunter2〉\"`,
		`password='〈a b c d〉'`, "**密码**：〈abc123〉", "**Password:** 〈swordfish〉", "my password is 〈hunter2〉.",
		"DB_PASSWORD=〈swordfish〉", "dbPassword: '〈swordfish〉'", "--password 〈hunter2〉 -h x", "--password=〈hunter2〉",
		"app_secret = \"〈" + body(32) + "〉\"", "client_secret=〈" + body(20) + "〉&x=1", "secret: 〈" + hexBody(32) + "〉",
		"token=〈abc123def456〉", "API_KEY=〈" + body(24) + "〉", "api-key: 〈" + body(24) + "〉", "x-api-key: 〈" + body(24) +
			"〉", "aws_secret_access_key = 〈" + body(40) + "〉", "令牌：〈" + body(20) + "〉", "密钥=〈" + hexBody(20) + "〉",
		"postgres://me:〈hunter2〉@db.example.com:5432/x", "https://u:〈p%40ss〉@h/", "redis://:〈hunter2〉@localhost",
		"pwd: 〈P@ss:w0rd!〉", "user=x;password=〈y1y1y1〉;host=z", "ｐａｓｓｗｏｒｄ：〈ｈｕｎｔｅｒ２〉", "passphrase: '〈quoted〉",
		"password: 〈mysecretpassword〉", "password: 〈secret〉", "passwd=〈letmein〉",
		"密码就是〈abc123〉", "密码改为〈Abc@1234〉", "密码（〈123456〉）", "密码“〈abc123〉”", "wifi密码〈88888888〉",
		"my token is: 〈abc123def456〉", "password changed to 〈hunter2〉", "db_pass=〈hunter2〉", "private_key=〈" +
			body(3000) + "〉 x", `"token":"〈` + body(2000) + `〉",`, "AccountKey=〈" + body(20) + "==〉;x=y",
		"token: 〈550e8400-e29b-41d4-a716-446655440000〉", "accessToken: \"〈" + body(16) + "〉\"",
	},
	APIKey: {
		"〈sk-" + body(48) + "〉", "〈sk-ant-api03-" + body(40) + "-" + body(40) + "_AA〉", "〈sk-proj-" + body(60) + "〉",
		"：〈sk-" + hexBody(32) + "〉。",
		"〈sk-test-" + body(16) + "〉", "〈sk-live-4f5g6h7j8k9l0〉", "〈sk-proj-abc123def456〉", "`〈sk-ant-abc123〉`",
		"key=〈sk-abc123〉", "〈sk-AbCdEfGhIjKlMnOpQrSt〉", "〈sk-XXXX-yyyy-zzzz-" + body(10) + "〉", "你的 key 是〈sk-" +
			body(10) + "〉。", "〈ghp_abc123def456〉", "Bearer 〈abc123def456〉", "〈xoxb-123-456-abc〉",
		"〈sk-abcdefghijklmnopqrstuvwx〉", "〈sk-proj-abcdefghijklmnopqrst〉", "〈sk-ant-abcdefghijklmnopqrst〉",
		"〈sk-1234567890abcdef〉", "Authorization: Bearer 〈abcdefghijklmnopqrst〉",
		"〈ghp_" + body(36) + "〉", "〈gho_" + body(36) + "〉", "〈github_pat_" + body(22) + "_" + body(59) + "〉",
		"〈glpat-" + body(20) + "〉", "〈AKIA" + "IOSFODNN7EXAMPLE" + "〉", "〈AIza" + body(35) + "〉", "〈ya29." + body(40) +
			"〉", "〈GOCSPX-" + body(28) + "〉",
		"〈xoxb-" + "123456789012-" + body(24) + "〉", "〈xoxp-" + body(40) + "〉", "〈xapp-1-" + body(40) + "〉",
		"https://hooks.slack.com/services/〈T0000/B0000/" + body(24) + "〉", "〈sk_live_" + body(24) + "〉", "〈rk_test_" +
			body(24) + "〉", "〈whsec_" + body(32) + "〉",
		"〈npm_" + body(36) + "〉", "〈mgp_" + strings.Repeat("a2b7", 8) + "〉", "〈pypi-" + body(80) + "〉", "〈hf_" + body(34) + "〉", "〈eyJ" + body(20) + ".eyJ" +
			body(30) + "." + body(43) + "〉", "Authorization: Bearer 〈" + body(30) + "〉",
		"curl -H 'authorization: bearer 〈" + body(30) + "〉'",
		"Authorization: token 〈" + hexBody(40) + "〉", "Authorization: Basic 〈" + "dXNlcjpwYXNzd29yZA==" + "〉", "〈t-" +
			body(40) + "〉", "〈u-" + body(30) + "〉", "tenant_access_token 〈t-" + hexBody(40) + "〉",
		"https://open.feishu.cn/open-apis/bot/v2/hook/〈550e8400-e29b-41d4-a716-446655440000〉",
		"https://oapi.dingtalk.com/robot/send?access_token=〈" + hexBody(64) + "〉",
		"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=〈550e8400-e29b-41d4-a716-446655440000〉", "〈123456789:A" +
			body(34) + "〉", "〈LTAI" + body(20) + "〉", "〈AKID" + body(32) + "〉",
		"〈dop_v1_" + hexBody(64) + "〉", "〈gsk_" + body(52) + "〉", "〈SG." + body(22) + "." + body(43) + "〉", "〈shpat_" +
			hexBody(32) + "〉", "〈dckr_pat_" + body(27) + "〉", "〈dapi" + hexBody(32) + "〉", "〈glsa_" + body(32) + "_" +
			hexBody(8) + "〉", "〈hvs." + body(90) + "〉",
		"〈lin_api_" + body(40) + "〉", "〈ATATT3" + body(60) + "〉", "〈AGE-SECRET-KEY-1" + strings.ToUpper(body(58)) + "〉",
		"token: 〈ghp_" + body(36) + "〉", "password=〈sk-" + body(48) + "〉",
		"a\n〈" + pem("RSA PRIVATE KEY", "\n") + "〉\nb", "〈" + pem("PRIVATE KEY", "\n") + "〉", "〈" +
			pem("OPENSSH PRIVATE KEY", "\r\n") + "〉", `"key":"〈` + pem("EC PRIVATE KEY", `\n`) + `〉"`, "〈" +
			pem("PGP PRIVATE KEY BLOCK", "\n") + "〉",
		"〈-----BEGIN PRIVATE KEY-----\n" + body(64) + "\n" + body(64) + "〉\n\n……", "```\n〈" +
			pem("RSA PRIVATE KEY", "\n") + "〉\n```",
	},
}

func pem(kind, br string) string {
	return "-----BEGIN " + kind + "-----" + br + body(64) + br + body(64) + br + "-----END " + kind + "-----"
}

// Fictitious numbers with valid check digits.
const (
	id18   = "110101199003074610"
	idX    = "11010119900307002X"
	bank19 = "6222021234567890128"
	bank16 = "6228481234567894"
)

func wide(s string) string {
	return strings.Map(func(r rune) rune { return r - ' ' + 0xFF00 }, s)
}

// grouped formats digits in groups of four.
func grouped(d string, sep byte) string {
	var b strings.Builder
	for i := range len(d) {
		if i > 0 && i%4 == 0 {
			b.WriteByte(sep)
		}
		b.WriteByte(d[i])
	}
	return b.String()
}

func TestTextsThatAreRedacted(t *testing.T) {
	for kind, texts := range goes {
		for _, marked := range texts {
			text := strings.NewReplacer("〈", "", "〉", "").Replace(marked)
			want := marked
			for {
				i, j := strings.Index(want, "〈"), strings.Index(want, "〉")
				if i < 0 {
					break
				}
				want = want[:i] + kind.mark() + want[j+len("〉"):]
			}
			if got := Text(text, All()); got != want {
				t.Errorf("%q became %q, want %q", text, got, want)
			}
			if got := Text(want, All()); got != want {
				t.Errorf("%q became %q when it was redacted again", want, got)
			}
		}
	}
}

// stays are texts in which nothing is redacted.
var stays = []string{
	"", "你好，今天天气不错。", "hello world", "密码忘了怎么办？", "[REDACTED_EMAIL]", "password: [REDACTED_SECRET]",
	"a [REDACTED_PHONE] b [REDACTED_X]",
	// UUIDs and hashes
	"550e8400-e29b-41d4-a716-446655440000", "13812345-6789-4111-8111-111111111111",
	"session 41111111-1111-4111-8111-13812345678a", "commit 1234567a", "2fd3373",
	"44e85071381234567800aabbccddeeff00112233",
	"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"sha1 a13812345678b4111111111111111cdefabcdef0", "db/13812345678abc", "go.sum h1:4111111111111111abcdefABCDEF",
	"index 1a2b3c4..5d6e7f8 100644",
	// versions
	"v1.2.3.4", "version 1.2.3.4", "Version: 1.2.3.4", `"version": "1.2.3.4"`, "版本 1.2.3.4", "版本号：1.2.3.4",
	"release 10.0.19041.1", "Chrome/120.0.0.0 Safari", "pkg==1.2.3.4", "pkg>=1.2.3.4", "^1.2.3.4", "go1.26.1",
	"package-1.2.3.4.tar.gz",
	"1.2.3.4-rc1", "foo_1.2.3.4_amd64.deb", "lodash@4.17.21", "github.com/x/y@v1.2.3", "第1.2.3.4节", "section 1.2.3.4",
	"OID 1.3.6.1.4.1", "1.2.3", "300.1.2.3", "1.2.3.4.5", "版本从 1.2.3.4 升到 1.2.3.5", "1.2.3.4 版本", "Chrome 120.0.0.0",
	"v 1.8.14.1", "4.3.2.1.in-addr.arpa", "m.Path@m.Version",
	// times
	"1700000000", "1700000000000", "1700000000000000", "1700000000000000000", "2024-11-21T10:20:30Z",
	"2024-11-21T10:20:30.123456789+08:00", "2024-11-21 10:20:30 +0800", "20241121102030", "2024/11/21 10:20",
	"1700000000.123", "12:30:45", "[10:20:30]", "2024年11月21日", "1990-03-07",
	// numbers
	"订单号：13812345678", "order id: 4155552671", "2 << 33 = 17179869184", "f(-19012425939)",
	"00000010: 23222120 27262524 2b2a2928", "  6273951764  464617114   165373",
	"-4181792142133755926, 4234737173186232084",
	"订单号 202411211234567890", "订单号：110101199003074611", "order 4111111111111112", "运单 SF1234567890123",
	"快递单号 78123456789012", "QQ 123456789", "3.14159265358979", "0.4111111111111111", "2.13812345678", "1_000_000_007",
	"9223372036854775807", "18446744073709551615",
	"2147483647", "4294967295", "0x4111111111111111", "0x1p+4294967296", "PrivateKey: testRSA2048PrivateKey,",
	"0xdeadbeef13812345678", "4111111111111111n", "6364136223846793005ULL", "1442695040888963407", "1099511628211",
	"14695981039346656037", "6.02214076e23", "¥13812345678", "$13812345678", "123456", "10086", "12345678",
	"4532123456789012", "订单号：4532-1234-5678-9012", "order no. 4532 1234 5678 9012", "4000 4100 4200 4300",
	"ports 4001 4002 4003 4004", "9532-1234-5678-9012", "4532-1234-5678-9012-3456", "12-4532-1234-5678-9012",
	"4532-1234 5678-9012", "4532.1234.5678.9012", "a4532-1234-5678-9012", "4532-1234-5678-9012b",
	"4532 1234 5678 9012 3456",
	"ISBN 978-7-111-40701-0", "200 300 4000 500", "1920 1080 2560 1440", "width 4111 1111", "0.5 1.5 2.5",
	"line 123, col 45", "port 13812", "100000000000", "12813812345678", "138123456789", "6222021234567890123",
	"000-12-3456", "666-12-3456", "900-12-3456",
	"12345678901234567890 4111", "7355439197428236291", "1.4111111111111111", "-13812", "1-2-3", "4-5-6 7-8-9",
	"abc13812345678", "13812345678abc", "id_13812345678", "E12345678", "护照已经办好了", "护照要 3 天", "passport.js 12",
	// IDs of the platform and of the agent
	"feishu:chat:oc_13812345678138123456781381234567", "om_dc13264520392913993dd051dba21dcf",
	"ou_7d8a6e6df7621556ce0d21922b676706", "cli_a1b2c3d4e5f6a7b8", "on_13812345678", "omt_4111111111111111",
	"file_v3_0013812345678_4111111111111111", "img_v2_13812345678",
	"req_011CRx13812345678", "toolu_01A09q90qw90lq917835lq9", "msg_013Zva2CMHLNnjNjJKqJ2EF",
	// addresses that every machine has, and text that looks like an address
	"127.0.0.1", "127.0.0.1:7777", "0.0.0.0", "http://127.0.0.1:8080/", "255.255.255.0", "255.255.255.255",
	"224.0.0.251", "::1", "[::1]:80", "::", "ff02::fb", "std::vector", "a::b", "e2e::add", "f64::MAX",
	"::ffff:127.0.0.1", "00:11:22:33:44:55", "00:11:22:33:44:55:66:77",
	"localhost", "```\n1.2.3.4\n2001:db8::1\n```", "~~~go\ndial(\"1.2.3.4:80\")\n~~~", "text\n```sh\nping 1.2.3.4",
	"> ```\n> 8.8.4.4\n> ```",
	"@小明 你好", "a @ b", "@@@@", "user@host", "git@github.com:golang/go.git", "icon@2x.png", "@types/node", "@app.route",
	"@media (max-width: 600px)", "x@y", "foo@1.2.3-rc", "@example.com", "bob@", "see https://example.com/@user/post",
	// keywords without a secret
	"token: 128000", "max_tokens: 24000", "tokens=1234", "input_tokens: 123456", "token 用量 1234", "1 个 token 约等于 4 个字符",
	"tokenizer: bert-base", "password is required", "the password is wrong", "password:", "password: ", "密码：", "密码是什么",
	"密码至少 8 位", "密码长度为 12 位",
	"password: string", "token: string;", "password = os.Getenv(\"DB_PASSWORD\")", "token := cfg.Token",
	"password: process.env.DB_PASSWORD", "secret: ${{ secrets.GITHUB_TOKEN }}", "password=$DB_PASSWORD",
	"password: ${PASSWORD}", "token=<your-token>", "password: ********", "password: null",
	"if password == input {", "func login(password string)", "密码用 sha256 加密", "密码 SHA256 哈希", "token refresh",
	"secret santa", "type=\"password\"", "passwordless: true", "password_hash", "apiKey: string", "api_key = None",
	"private key", "the secret: always rotate keys",
	"token: expired", "密码重置链接", "令牌过期", "密钥：见附件", "验证码已发送", "口令红包", "access token expired", "Bearer authentication",
	"token 过期时间 3600", "secret: mysecret",
	"login(password=password)", "password = newPassword", "password: user.passwd", "PWD=/tmp",
	`cmd.Env = append(env, "PWD="+dir)`, "pwd = name", "ClientCredentials: &oauth.Credentials{", "password [password]",
	"password *uint16)", "token=\").concat(this.token)", "m.withCredentials=!!e.withCredentials),x",
	"password: process.env.PM2_PASSWORD",
	// text that looks like a key
	"sk-learn-contrib-2024-extras", "sk-SK", "sk-2024", "sk-12345678", "sk-test-driven-development-2024",
	"disk-usage-1234", "my-task-abc123def456", "Bearer 2024-11-21", "Bearer of bad news 1", "ghp_configuration",
	"sk-learn", "task-force-one-two-three-four", "risk-assessment-of-the-plan-2024", "t-shirt", "u-boot",
	"t-distribution", "ghp_short", "eyJ", "eyJhbGciOiJIUzI1NiJ9", "-----BEGIN CERTIFICATE-----\n" + "MIIB" +
		"\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", "the line -----BEGIN PRIVATE KEY----- starts it",
	"AKIA", "hf_", "npm_config_registry", "xoxo-hugs-and-kisses", "a-b-c", "hv.x", "SG.1",
	"a\xff\xfe\x80 b", "\x1a\x1a", "e\u0301", "👩‍👩‍👧 1", "０ １ ２",
}

func TestTextsThatAreNotRedacted(t *testing.T) {
	for _, text := range stays {
		if got := Text(text, All()); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Text around a secret stays the same byte for byte.
func TestTheRestIsUntouched(t *testing.T) {
	const around = "ＡＢ　１２\xff\u2003–“，。\r\n\t\x00"
	if got, want := Text(around+" bob@example.com "+around, All()), around+" [REDACTED_EMAIL] "+around; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAPolicyReplacesItsKindsOnly(t *testing.T) {
	const text = "bob@example.com 13812345678 8.8.4.4 password: hunter2"
	for _, tc := range []struct {
		p    Policy
		want string
	}{
		{0, text},
		{Email, "[REDACTED_EMAIL] 13812345678 8.8.4.4 password: hunter2"},
		{Phone | Secret, "bob@example.com [REDACTED_PHONE] 8.8.4.4 password: [REDACTED_SECRET]"},
		{All(), "[REDACTED_EMAIL] [REDACTED_PHONE] [REDACTED_IP] password: [REDACTED_SECRET]"},
	} {
		if got := Text(text, tc.p); got != tc.want {
			t.Errorf("policy %b gave %q, want %q", tc.p, got, tc.want)
		}
	}
	for kind, texts := range goes {
		for _, marked := range texts {
			text := strings.NewReplacer("〈", "", "〉", "").Replace(marked)
			if got := Text(text, kind); !strings.Contains(got, kind.mark()) {
				t.Errorf("%q became %q when only its kind is replaced", text, got)
			}
			if got := Text(text, All()&^kind); strings.Contains(got, kind.mark()) {
				t.Errorf("%q became %q although its kind is not redacted", text, got)
			}
		}
	}
}
