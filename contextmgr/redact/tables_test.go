package redact

import (
	"slices"
	"strings"
	"testing"
)

// letters is a random part of a key without a digit.
func letters(n int) string {
	return strings.Repeat("aBcDeFgHiJkLmNoPqRsTuVwXyZ", n/26+1)[:n]
}

// checkedNumber is a number with a given beginning and its check digit.
func checkedNumber(first string, length int) string {
	d := first + strings.Repeat("80", length)[:length-len(first)-1]
	for c := '0'; c <= '9'; c++ {
		if validLuhn([]byte(d + string(c))) {
			return d + string(c)
		}
	}
	panic("a number has no check digit")
}

// cardIssuers are the first digits of card numbers, at the ends of each range, and the lengths of these numbers.
var cardIssuers = []struct {
	kind    Policy
	first   []string
	lengths []int
}{
	{BankCard, []string{"62"}, []int{16, 17, 18, 19}},
	{BankCard, []string{"81"}, []int{16}},
	{BankCard, []string{"9558", "9559"}, []int{16, 19}},
	{BankCard, []string{"6013", "6014"}, []int{16, 19}},
	{BankCard, []string{"603"}, []int{16, 18, 19}},
	{BankCard, []string{"6858"}, []int{16, 19}},
	{BankCard, []string{"690755"}, []int{15, 18}},
	{BankCard, []string{"9843"}, []int{16, 19}},
	{CreditCard, []string{"4"}, []int{13, 16}},
	{CreditCard, []string{"51", "55"}, []int{16}},
	{CreditCard, []string{"2221", "2720"}, []int{16}},
	{CreditCard, []string{"34"}, []int{15}},
	{CreditCard, []string{"37"}, []int{15}},
	{CreditCard, []string{"6011"}, []int{16}},
	{CreditCard, []string{"644", "649"}, []int{16}},
	{CreditCard, []string{"65"}, []int{16}},
	{CreditCard, []string{"3528", "3589"}, []int{16}},
	{CreditCard, []string{"300", "305"}, []int{14}},
	{CreditCard, []string{"3095"}, []int{14}},
	{CreditCard, []string{"36"}, []int{14}},
	{CreditCard, []string{"38", "39"}, []int{14}},
	{CreditCard, []string{"5018"}, []int{16}},
	{CreditCard, []string{"5020"}, []int{16}},
	{CreditCard, []string{"5038"}, []int{16}},
	{CreditCard, []string{"6304"}, []int{16}},
	{CreditCard, []string{"6759", "6763"}, []int{16}},
	{CreditCard, []string{"2200", "2204"}, []int{16}},
	{CreditCard, []string{"508"}, []int{16}},
}

func TestCardsOfEachIssuer(t *testing.T) {
	for _, tc := range cardIssuers {
		for _, first := range tc.first {
			for _, length := range tc.lengths {
				card := checkedNumber(first, length)
				if got := Text("卡 "+card, All()); got != "卡 "+tc.kind.mark() {
					t.Errorf("%s became %q", card, got)
				}
			}
		}
	}
}

// keyBeginnings are the possible beginnings of keys in a format, and what follows.
var keyBeginnings = []struct{ first, rest string }{
	{"ghp_ gho_ ghu_ ghs_ ghr_", letters(36)},
	{"ghp_ gho_ ghu_ ghs_ ghr_", body(12)},
	{"glpat- gldt- glrt- glptt- gloas- glft- glimt- glagent- glcbt- glsoat-", body(20)},
	{"AKIA ASIA ABIA ACCA", "IOSFODNN7EXAMPLE"},
	{"xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", body(24)},
	{"sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_", body(24)},
	{"t- u- a- ur-", body(30)},
	{"dop_v1_ doo_v1_ dor_v1_", hexBody(64)},
	{"shpat_ shpca_ shppa_ shpss_", hexBody(32)},
	{"dckr_pat_ dckr_oat_", body(27)},
	{"hvs. hvb. hvr.", body(24)},
	{"lin_api_ lin_oauth_", body(32)},
}

func TestKeysWithEachBeginning(t *testing.T) {
	for _, tc := range keyBeginnings {
		for first := range strings.FieldsSeq(tc.first) {
			if got, want := Text("用 "+first+tc.rest, All()), "用 "+APIKey.mark(); got != want {
				t.Errorf("%s became %q", first+tc.rest, got)
			}
		}
	}
}

// namedGoes are texts of which the part in 〈〉 is redacted because of a single word.
var namedGoes = map[Policy][]string{
	APIKey: {
		"BEARER 〈" + body(30) + "〉", "AUTHORIZATION: BASIC 〈dXNlcjpwYXNzd29yZA==〉",
		"AUTHORIZATION: Bearer 〈" + strings.ToLower(letters(20)) + "〉", "AUTHORIZATION: token 〈" + hexBody(40) + "〉",
	},
	Secret: {
		"passphrase: 〈sesame〉", "password: 〈sesame〉", "passcode: 〈sesame〉", "passwd: 〈sesame〉", "pwd: 〈sesame1〉",
		"db_pass: 〈sesame〉",
		"private_key: 〈" + body(16) + "〉", "privatekey: 〈" + body(16) + "〉", "secret_access_key: 〈" + body(16) + "〉",
		"secret_key: 〈" + body(16) + "〉", "secretkey: 〈" + body(16) + "〉", "secret key: 〈" + body(16) + "〉",
		"secret: 〈" + body(16) + "〉", "signing_key: 〈" + body(16) + "〉", "token: 〈" + body(16) + "〉",
		"api_key: 〈" + body(16) + "〉", "api-key: 〈" + body(16) + "〉", "api key: 〈" + body(16) + "〉",
		"apikey: 〈" + body(16) + "〉", "access_key: 〈" + body(16) + "〉", "access-key: 〈" + body(16) + "〉",
		"access key: 〈" + body(16) + "〉", "accesskey: 〈" + body(16) + "〉", "accountkey: 〈" + body(16) + "〉",
		"credentials: 〈" + body(16) + "〉", "credential: 〈" + body(16) + "〉", "encryption_key: 〈" + body(16) + "〉",
		"密码：〈sesame〉", "口令：〈sesame〉", "密钥：〈" + body(16) + "〉", "秘钥：〈" + body(16) + "〉", "令牌：〈" + body(16) + "〉",
		"验证码：〈4829〉",
		"password := 〈hunter2〉", "password => 〈hunter2〉", "password -> 〈hunter2〉",
		"密码设置为〈sesame〉", "密码设为〈sesame〉", "密码设成〈sesame〉", "密码改成了〈sesame〉", "密码改成〈sesame〉", "密码改为〈sesame〉",
		"密码换成〈sesame〉", "密码就是〈sesame〉", "密码是〈sesame〉", "密码为〈sesame〉",
		"password is 〈hunter2〉", "password was 〈hunter2〉", "password to 〈hunter2〉", "password changed to 〈hunter2〉",
		"password set to 〈hunter2〉",
		"密码(〈a1b2c3〉)", "密码“〈a1b2c3〉”", "密码‘〈a1b2c3〉’", "密码「〈a1b2c3〉」", "密码『〈a1b2c3〉』", "密码【〈a1b2c3〉】",
	},
	Phone: {
		"电话 〈5551234567〉", "手机 〈5551234567〉", "座机 〈5551234567〉", "传真 〈5551234567〉", "phone 〈5551234567〉",
		"telephone 〈5551234567〉", "tel 〈5551234567〉", "mobile 〈5551234567〉", "cell 〈5551234567〉",
		"cellphone 〈5551234567〉", "fax 〈5551234567〉", "WhatsApp 〈5551234567〉",
		"手机号 〈5551234567〉", "手机号码 〈5551234567〉", "phone number 〈5551234567〉", "phone no. 〈5551234567〉",
		"phone id 〈5551234567〉", "phone is 〈5551234567〉", "电话是 〈5551234567〉", "电话为 〈5551234567〉",
	},
	SSN:      {"ssn 〈078051120〉", "social security 〈078051120〉", "社会安全号 〈078051120〉", "社保 〈078051120〉"},
	Passport: {"护照 〈E12345678〉", "Passport 〈E12345678〉", "passport 〈E12345678〉", "PASSPORT 〈E12345678〉"},
}

// namedStays are texts in which nothing is redacted because of a single word.
var namedStays = slices.Concat(
	after("1.2.3.4", "version", "ver", "v", "release", "revision", "build", "rev", "section", "chapter", "upgrade to",
		"upgraded to", "版本", "升到", "升级到", "升级至", "降级到", "回退到", "第", "§"),
	after("13812345678", "订单", "运单", "快递", "工单", "单号", "流水", "编号", "order", "invoice", "ticket", "tracking"),
	[]string{"$13812345678", "¥13812345678", "€13812345678", "£13812345678", "版本从 1.2.3.4"},
	[]string{"if password == hunter2", "if password==hunter2", "Password::hunter2"},
)

// after appends a number to each of the words.
func after(number string, words ...string) (texts []string) {
	for _, w := range words {
		texts = append(texts, w+" "+number)
	}
	return texts
}

func TestEachWordCounts(t *testing.T) {
	for kind, texts := range namedGoes {
		for _, marked := range texts {
			head, rest, _ := strings.Cut(marked, "〈")
			value, tail, _ := strings.Cut(rest, "〉")
			if got, want := Text(head+value+tail, All()), head+kind.mark()+tail; got != want {
				t.Errorf("%q became %q", head+value+tail, got)
			}
		}
	}
	for _, text := range namedStays {
		if got := Text(text, All()); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
