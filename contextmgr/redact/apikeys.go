package redact

import (
	"bytes"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// keyFormat is a format of API keys or tokens.
type keyFormat struct {
	leads   string // every key contains one of these words; searching for them first is cheap
	pattern string // the first group, if any, is redacted
	mixed   bool   // the match must contain a digit: without one it is a hyphenated word
	common  bool   // the lead alone is an ordinary word
	inner   bool   // the lead is not the beginning of the key
	blended bool   // a part of the match must mix letters and digits, unlike any word
}

// keys are the formats of well-known services, with their documentation.
var keys = []keyFormat{
	// OpenAI, API reference, Authentication (proj, svcacct, admin); Anthropic (ant), OpenRouter (or-v1). DeepSeek,
	// Moonshot and others have the short form, and many put words of their own (live, test) or fewer characters behind
	// the lead.
	{leads: "sk-", pattern: `\bsk-(?:(?:proj|svcacct|admin|ant|or-v1)-[A-Za-z0-9_-]{16,}|[A-Za-z0-9]{20,})`},
	{leads: "sk-", pattern: `\bsk-[A-Za-z0-9_-]{6,}`, blended: true},
	// GitHub Docs, About authentication to GitHub, Token formats.
	{leads: "ghp_ gho_ ghu_ ghs_ ghr_", pattern: `\bgh[pousr]_[A-Za-z0-9]{36,255}`},
	{leads: "ghp_ gho_ ghu_ ghs_ ghr_", pattern: `\bgh[pousr]_[A-Za-z0-9]{12,255}`, mixed: true},
	{leads: "github_pat_", pattern: `\bgithub_pat_[A-Za-z0-9_]{22,255}`},
	// GitLab Docs, Security, Tokens, Token prefixes.
	{leads: "glpat- gldt- glrt- glptt- gloas- glft- glimt- glagent- glcbt- glsoat-",
		pattern: `\bgl(?:pat|dt|rt|ptt|oas|ft|imt|agent|cbt|soat)-[A-Za-z0-9_.=-]{20,}`},
	// AWS IAM User Guide, IAM identifiers, Unique ID prefixes.
	{leads: "AKIA ASIA ABIA ACCA", pattern: `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`},
	// Google Cloud, Authentication, API keys; OAuth clients; OAuth access tokens.
	{leads: "AIza", pattern: `\bAIza[A-Za-z0-9_-]{35}`},
	{leads: "GOCSPX-", pattern: `\bGOCSPX-[A-Za-z0-9_-]{28}`},
	{leads: "AQ.Ab", pattern: `\bAQ\.Ab[A-Za-z0-9_-]{40,}`},
	{leads: "ya29.", pattern: `\bya29\.[A-Za-z0-9_-]{20,}`},
	{leads: "1//0", pattern: `\b1//0[A-Za-z0-9_-]{30,}`},
	// Slack, Authentication, Tokens; Incoming webhooks.
	{leads: "xoxe.xox", pattern: `\bxoxe\.xox[bp]-[A-Za-z0-9-]{10,}`, mixed: true},
	{leads: "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs-",
		pattern: `\bxox[a-eoprs]-[A-Za-z0-9%-]{10,}`, mixed: true},
	{leads: "xapp-", pattern: `\bxapp-[A-Za-z0-9-]{10,}`, mixed: true},
	{leads: "hooks.slack.com/", pattern: `hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,})`},
	// Stripe Docs, API keys; Webhooks, signing secrets.
	{leads: "k_live_ k_test_", pattern: `\b[srp]k_(?:live|test)_[A-Za-z0-9]{10,}`, inner: true},
	{leads: "whsec_", pattern: `\bwhsec_[A-Za-z0-9+/=]{24,}`},
	// Magpie's own, see internal/door/api.
	{leads: "mgp_", pattern: `\bmgp_[a-z2-7]{32}`},
	// npm Docs, About access tokens.
	{leads: "npm_", pattern: `\bnpm_[A-Za-z0-9]{36}`},
	// PyPI, Help, API tokens.
	{leads: "pypi-", pattern: `\bpypi-[A-Za-z0-9_-]{50,}`},
	// Hugging Face Docs, Security, User access tokens.
	{leads: "hf_", pattern: `\bhf_[A-Za-z0-9]{30,}`},
	// xAI, NVIDIA, Perplexity, Replicate, Cerebras, Fireworks, Tavily, Firecrawl, LangSmith, ElevenLabs, Dify, Coze:
	// their docs on API keys.
	{leads: "xai-", pattern: `\bxai-[A-Za-z0-9_-]{20,}`, mixed: true},
	{leads: "nvapi-", pattern: `\bnvapi-[A-Za-z0-9_-]{20,}`, mixed: true},
	{leads: "pplx-", pattern: `\bpplx-[A-Za-z0-9]{20,}`, mixed: true},
	{leads: "r8_", pattern: `\br8_[A-Za-z0-9]{30,}`},
	{leads: "csk-", pattern: `\bcsk-[a-z0-9]{30,}`, mixed: true},
	{leads: "fw_", pattern: `\bfw_[A-Za-z0-9]{20,}`, mixed: true},
	{leads: "tvly-", pattern: `\btvly-[A-Za-z0-9_-]{20,}`, mixed: true},
	{leads: "fc-", pattern: `\bfc-[a-f0-9]{32}\b`},
	{leads: "lsv2_", pattern: `\blsv2_(?:pt|sk)_[A-Za-z0-9_]{30,}`},
	{leads: "sk_", pattern: `\bsk_[a-f0-9]{40,}`},
	{leads: "app- dataset-", pattern: `\b(?:app|dataset)-[A-Za-z0-9]{24}\b`, common: true, mixed: true},
	{leads: "pat_", pattern: `\bpat_[A-Za-z0-9]{40,}`, mixed: true},
	// Volcengine: access key ids, temporary ones, keys of Ark.
	{leads: "AKLT AKTP", pattern: `\bAK(?:LT|TP)[A-Za-z0-9+/_-]{20,}={0,2}`},
	{leads: "ark-", pattern: `\bark-[a-f0-9]{8}-[a-f0-9-]{16,}`},
	// Baidu AI Cloud: keys of Qianfan, signatures, access tokens.
	{leads: "bce-v3/ ALTAK", pattern: `\b(?:bce-v3/)?ALTAK[A-Za-z0-9-]{16,}(?:/[a-f0-9]{32,})?`},
	{leads: "bce-auth-v1/", pattern: `\bbce-auth-v1/[A-Za-z0-9]{16,}(?:/[A-Za-z0-9:;_.%-]*){2,5}`},
	{leads: "24. 25.", pattern: `\b2[45]\.[a-f0-9]{32}\.[0-9]{4,10}\.[0-9]{8,12}(?:\.[0-9-]+)?`, common: true},
	// RFC 7519 (JWT), RFC 7516 (JWE): a JSON object in base64url starts with eyJ.
	{leads: "eyJ", pattern: `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}`},
	// RFC 6750 (Bearer), RFC 7617 (Basic).
	{leads: "earer BEARER", pattern: `(?:[Bb]earer|BEARER)[ :=]{1,3}["']?([A-Za-z0-9._~+/=-]{12,})`, inner: true, mixed: true,
		blended: true},
	{leads: "uthorization UTHORIZATION", pattern: `(?i)authorization["']?[ ]?[:=][ ]?["']?basic ([A-Za-z0-9+/]{6,}=*)`, inner: true},
	{leads: "uthorization UTHORIZATION",
		pattern: `(?i)authorization["']?[ ]?[:=][ ]?["']?bearer ([A-Za-z0-9._~+/=-]{16,})`, inner: true},
	{leads: "uthorization UTHORIZATION",
		pattern: `(?i)authorization["']?[ ]?[:=][ ]?["']?(?:token|key|apikey) ([A-Za-z0-9._~+/=-]{16,})`, inner: true, mixed: true},
	// Feishu Open Platform, Get access tokens: tenant, user, app; Custom bots, webhook address.
	{leads: "t- u- a- ur-", pattern: `(?:^|[^A-Za-z0-9_-])((?:[tua]|ur)-[A-Za-z0-9_.]{25,})`, mixed: true},
	{leads: "/bot/v2/hook/", pattern: `/bot/v2/hook/([A-Za-z0-9-]{16,})`},
	// DingTalk, WeCom: webhook addresses of group bots.
	{leads: "/robot/send?access_token=", pattern: `/robot/send\?access_token=([A-Za-z0-9]{16,})`},
	{leads: "/webhook/send?key=", pattern: `/webhook/send\?key=([A-Za-z0-9-]{16,})`},
	// Discord: webhooks, tokens of accounts. Those of bots are in dotted.go.
	{leads: "/api/webhooks/ /api/v",
		pattern: `discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{10,}/([A-Za-z0-9_-]{20,})`},
	{leads: "mfa.", pattern: `\bmfa\.[A-Za-z0-9_-]{20,}`, mixed: true},
	// Microsoft Azure: shared access signatures, client secrets, keys of DevOps and of storage accounts.
	{leads: "sig=", pattern: `[?&; "']sig=([A-Za-z0-9%+/=_-]{20,})`},
	{leads: "Q~", pattern: `(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})`, inner: true},
	{leads: "AZDO", pattern: `\b[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4}\b`, inner: true},
	{leads: "+ASt +AMC +ABa", pattern: `[A-Za-z0-9+/]{70,80}\+(?:ASt|AMC|ABa)[A-Za-z0-9+/]{5,8}={0,2}`, inner: true},
	// Telegram Bot API, Authorizing your bot.
	{leads: ":A", pattern: `\b[0-9]{6,10}:A[A-Za-z0-9_-]{34}\b`, inner: true},
	// Alibaba Cloud and Tencent Cloud, access key ids.
	{leads: "LTAI", pattern: `\bLTAI[A-Za-z0-9]{12,26}\b`},
	{leads: "STS.", pattern: `\bSTS\.[A-Za-z0-9]{20,}`, mixed: true},
	{leads: "AKID", pattern: `\bAKID[A-Za-z0-9]{32,36}\b`},
	// DigitalOcean, Groq, SendGrid, Shopify, Docker, Databricks, Grafana, HashiCorp Vault, Linear, Atlassian: their
	// docs on API tokens.
	{leads: "dop_v1_ doo_v1_ dor_v1_", pattern: `\bdo[opr]_v1_[a-f0-9]{64}`},
	{leads: "gsk_", pattern: `\bgsk_[A-Za-z0-9]{40,}`},
	{leads: "SG.", pattern: `\bSG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}`, common: true},
	{leads: "shpat_ shpca_ shppa_ shpss_", pattern: `\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`},
	{leads: "dckr_", pattern: `\bdckr_[op]at_[A-Za-z0-9_-]{20,}`},
	{leads: "dapi", pattern: `\bdapi[a-f0-9]{32}\b`},
	{leads: "glsa_", pattern: `\bglsa_[A-Za-z0-9]{32}_[a-f0-9]{8}`},
	{leads: "hvs. hvb. hvr.", pattern: `\bhv[sbr]\.[A-Za-z0-9_-]{24,}`},
	{leads: "lin_api_ lin_oauth_", pattern: `\blin_(?:api|oauth)_[A-Za-z0-9]{32,}`},
	{leads: "ATATT3 ATCTT3 ATBB", pattern: `\bAT(?:[AC]TT3|BB)[A-Za-z0-9_=-]{28,}`},
	// Notion, Figma, Airtable, Postman, Sentry, New Relic, Mailgun, Twilio, Square, Vercel, Supabase, PlanetScale,
	// Netlify, Fly.io, Meta: their docs on tokens.
	{leads: "secret_ ntn_", pattern: `\b(?:secret|ntn)_[A-Za-z0-9]{40,}`, mixed: true},
	{leads: "figd_", pattern: `\bfigd_[A-Za-z0-9_-]{30,}`},
	{leads: "pat", pattern: `\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}`, common: true},
	{leads: "PMAK-", pattern: `\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}`},
	{leads: "sntrys_ sntryu_", pattern: `\bsntry[su]_[A-Za-z0-9+/=_-]{30,}`},
	{leads: "NRAK-", pattern: `\bNRAK-[A-Z0-9]{27}`},
	{leads: "key-", pattern: `\bkey-[a-f0-9]{32}\b`, common: true},
	{leads: "SK", pattern: `\bSK[a-f0-9]{32}\b`, common: true},
	{leads: "sq0atp- sq0csp-", pattern: `\bsq0(?:atp|csp)-[A-Za-z0-9_-]{22,}`},
	{leads: "vcp_ vck_ vercel_blob_rw_", pattern: `\b(?:vc[pk]|vercel_blob_rw)_[A-Za-z0-9_]{20,}`, mixed: true},
	{leads: "sbp_ sb_secret_", pattern: `\b(?:sbp|sb_secret)_[A-Za-z0-9_-]{20,}`, mixed: true},
	{leads: "pscale_", pattern: `\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{30,}`},
	{leads: "nfp_", pattern: `\bnfp_[A-Za-z0-9]{36}`},
	{leads: "fo1_ fm2_", pattern: `\b(?:fo1|fm2)_[A-Za-z0-9+/=_-]{30,}`},
	{leads: "EAA", pattern: `\bEAA[A-Za-z0-9]{80,}`, common: true},
	// age, file encryption: secret keys.
	{leads: "AGE-SECRET-KEY-", pattern: `\bAGE-SECRET-KEY-1[A-Z0-9]{58}`},
}

// keyPatterns are the compiled patterns, by the index of their key.
var keyPatterns = func() []*regexp.Regexp {
	list := make([]*regexp.Regexp, len(keys))
	for i, k := range keys {
		list[i] = regexp.MustCompile(k.pattern)
	}
	return list
}()

// lead is a word that every key of certain formats contains.
type lead struct {
	word string
	keys []int // indexes in keys
}

// leadsBy are the leads by their first byte, without duplicates.
var leadsBy = func() (by [256][]lead) {
	for i, k := range keys {
		for _, word := range strings.Fields(k.leads) {
			list := &by[word[0]]
			at := slices.IndexFunc(*list, func(l lead) bool { return l.word == word })
			if at < 0 {
				at, *list = len(*list), append(*list, lead{word: word})
			}
			(*list)[at].keys = append((*list)[at].keys, i)
		}
	}
	return by
}()

// keysAt yields the formats of which a key may have its lead at position i.
func keysAt[T []byte | string](text T, i int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, l := range leadsBy[text[i]] {
			if len(text)-i < len(l.word) || string(text[i:i+len(l.word)]) != l.word {
				continue
			}
			for _, k := range l.keys {
				if !yield(k) {
					return
				}
			}
		}
	}
}

// apiKeys finds keys and tokens by their format.
func (s *scan) apiKeys() {
	s.privateKeys()
	found := func(start, end int) { s.recordMatch(APIKey, start, end) }
	dottedKeys(s.text, found)
	// One cheap pass finds the formats whose leads occur; only their slow patterns are run.
	likely := make([]bool, len(keys))
	for i := range s.text {
		if !beginsWord(s.text, i) {
			continue
		}
		for k := range keysAt(s.text, i) {
			likely[k] = true
		}
	}
	for i, k := range keys {
		if !likely[i] {
			continue
		}
		for _, m := range keyPatterns[i].FindAllSubmatchIndex(s.text, -1) {
			start, stop := m[len(m)-2], m[len(m)-1]
			if k.isMoreThanWord(s.text[start:stop]) {
				s.recordMatch(APIKey, start, stop)
			}
		}
	}
	truncatedKeys(s.text, found)
}

// truncatedKeys finds what remains of keys that somebody has cut off with an ellipsis.
func truncatedKeys(text []byte, found func(start, end int)) {
	for end := 0; ; {
		n := bytes.Index(text[end:], []byte("…"))
		if n < 0 {
			return
		}
		from := end
		end += n
		start := max(from, end-maxSecret)
		for i := end - 1; i >= start && keyChar(text[i]); i-- {
			if leadsKey(text[:end], i) {
				found(i, end)
				break
			}
		}
		end += len("…")
	}
}

// leadsKey reports whether a text ends with the beginning of a key, from position i on, that is long enough to tell.
func leadsKey(text []byte, i int) bool {
	for range keysAt(text, i) {
		part := text[i:]
		return !isAlnum(before(text, i)) && len(part) >= telling && bytes.ContainsAny(part, "0123456789")
	}
	return false
}

// keyChar reports whether c may be part of a key.
func keyChar(c byte) bool {
	return isAlnum(c) || c == '-' || c == '_' || c == '.' || c == '/' || c == '+' || c == '='
}

// isMoreThanWord reports whether the match is more than a word.
func (k keyFormat) isMoreThanWord(found []byte) bool {
	return (!k.mixed || bytes.ContainsAny(found, "0123456789")) && (!k.blended || hasMixedRun(found))
}

// Minimum lengths of a run of letters and digits that is not a word.
const (
	shortBlend = 6  // with both
	longBlend  = 16 // with digits
)

// hasMixedRun reports whether a part of a text is a run of letters and digits that is not a word.
func hasMixedRun(text []byte) bool {
	n, digits := 0, 0
	for i := 0; i <= len(text); i++ {
		switch c := at(text, i); {
		case isAlnum(c):
			n++
			if isDigit(c) {
				digits++
			}
		case n >= shortBlend && digits > 0 && digits < n, n >= longBlend && digits > 0:
			return true
		default:
			n, digits = 0, 0
		}
	}
	return false
}

var (
	pemBegin = regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----`)
	pemEnd   = regexp.MustCompile(`^-----END [A-Z0-9 ]{0,64}-----`)
	// pemBody is the beginning of a key whose end is missing. Line breaks may be written as in JSON.
	pemBody = regexp.MustCompile(`^(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])*)+`)
)

// privateKeys finds keys in PEM format (RFC 7468), complete or truncated.
func (s *scan) privateKeys() {
	for i := 0; ; {
		m := pemBegin.FindIndex(s.text[i:])
		if m == nil {
			return
		}
		start, stop := i+m[0], i+m[1]
		i = stop
		rest := s.text[stop:]
		dashes := bytes.Index(rest, []byte("-----"))
		if dashes >= 0 && !runs(s.code, start) {
			if e := pemEnd.Find(rest[dashes:]); e != nil {
				i = stop + dashes + len(e)
				s.recordMatch(APIKey, start, i)
				continue
			}
		}
		if unfinishedPEM(rest) {
			s.hold(start)
		}
		// A truncated key is a secret, too.
		if body := pemBody.Find(rest); body != nil {
			i = stop + len(bytes.TrimRight(body, " \t\r\n"))
			s.recordMatch(APIKey, start, i)
		}
	}
}

// unfinishedPEM reports whether all that follows the first line of a key may belong to it.
func unfinishedPEM(rest []byte) bool {
	for line := range bytes.Lines(rest) {
		header := bytes.Contains(line, []byte(": ")) || bytes.HasPrefix(line, []byte("-----END "))
		if !header && bytes.IndexFunc(bytes.TrimSpace(line), func(r rune) bool {
			return r >= 0x7F || !keyChar(byte(r)) && r != '\\' && r != blanked
		}) >= 0 {
			return false
		}
	}
	return true
}
