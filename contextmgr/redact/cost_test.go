package redact

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/racetest"
)

// hostile are texts, repeated to any length, for which a naive search would backtrack again and again.
var hostile = map[string]string{
	"zeros": "0", "ones": "1", "cards without end": "4", "full-width digits": "１", "single digits": "1 ",
	"digits and hyphens": "1-", "groups of four": "4111 ", "cards": "4111111111111111 ",
	"grouped cards":   "4111 1111 1111 1111 ",
	"groups of seven": "5551234 ", "phones": "13812345678 ", "pluses": "+", "countries": "+86 ", "brackets": "(010) ",
	"decimals": "1.", "addresses": "8.8.4.4 ", "colons": ":", "double colons": "::1", "IPv6": "2001:db8::1 ",
	"hex and colons": "a:", "dots": ".",
	"ats": "@", "mails": "a@b.cn ", "half mails": "a@", "mail without end": "a", "words": "abc ", "hashes": "deadbeef1",
	"UUIDs": "550e8400-e29b-41d4-a716-446655440000 ", "identities": "110101199003074610 ", "years": "19900307",
	"passwords": "password: ", "password in password": "password:password", "password and dashes": "password: -",
	"密码": "密码", "quotes": `password:"`, "secrets": "密码：abc123 ", "fields": "token=a&token=b1;",
	"backslashes": `\"password\"\`, "spaces": "password    ", "tokens of tokens": "token:[",
	"secret in brackets": "token:(a),",
	"URLs":               "://", "passwords of URLs": "://a:b@", "users of URLs": "://a:",
	"private keys": "-----BEGIN PRIVATE KEY-----\n", "ends of keys": "-----END PRIVATE KEY-----", "dashes": "-----",
	"keys cut off": "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA\n",
	"token heads":  "sk-", "tokens": "sk-abcdefghijklmnopqrstu1 ", "eyJ": "eyJ", "eyJ and dots": "eyJaaaaaaaa.",
	"bearers": "Bearer ", "hooks": "hooks.slack.com/services/", "passports": "passport 1", "护照": "护照",
	"commands": "curl ", "flags": "curl -u a:b ", "flags alone": "-u ", "lines of a command": "curl \\\n", "labels": "password:\n", "empty lines": "\n",
	"labels and marks": "password:\n- ", "cells": "| password ", "ellipses": "sk-a1…", "dotted": "a1b2.", "Discords": "MTIzNDU2Nzg5MDEyMzQ1Njc4.",
	"words with leads": "pat", "signatures": "&sig=a", "cut quotes": "curl -u \"a:",
	"versions": "version 1.2.3.4 ", "fences": "```\n", "tildes": "~",
	"marks": "[REDACTED_EMAIL]", "half marks": "[REDACTED_", "ids": "om_1", "underscores": "_", "broken UTF-8": "\xff1",
	"wide": "　１", "not-words": "t-a1", "Xs": "11010119900307461X", "spread Xs": "1 1 0 1 0 1 1 9 9 0 0 3 0 7 0 0 2 X ",
	"everything": "a@b.cn 13812345678 8.8.4.4 密码：abc123 4111111111111111 110101199003074610 ",
}

// Eight times the text takes about eight times as long. Quadratic behaviour would take 64 times as long. A busy machine
// is slow for a while, so two measurements in a row are compared, and one such pair suffices. Both texts are so large
// that Go takes new memory for them, which is slower than memory that is used again.
func TestTimeGrowsWithTheLengthAndNoFaster(t *testing.T) {
	if racetest.Enabled {
		t.Skip("scripts/test runs this package without the race detector")
	}
	const large = 1 << 18
	const small, most = large / 8, 20
	took := func(text string) time.Duration {
		began := worked(t)
		Text(text, All())
		return max(worked(t)-began, time.Millisecond) // below that it is noise
	}
	for name, piece := range hostile {
		text := strings.Repeat(piece, large/len(piece)+1)
		var a, b time.Duration
		for try := 0; try < 20 && b >= most*a; try++ {
			a, b = took(text[:small]), took(text[:large])
		}
		if b >= most*a {
			t.Errorf("%s: %d KB took %v, %d KB %v", name, small>>10, a, large>>10, b)
		}
		t.Logf("%s: %v, %v", name, a, b)
	}
}

// worked is the CPU time of this process: other load of the machine matters less than with wall time.
func worked(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkText(b *testing.B) {
	for name, text := range map[string]string{
		"nothing": strings.Repeat("今天天气不错，we could go for a walk. ", 25),
		"numbers": strings.Repeat("第 12 次运行用了 3.5 秒，共 1700000000 行。 ", 20),
		"finds":   strings.Repeat("请发到 bob@example.com，或打 138 1234 5678，密码：abc123。", 15),
		"code": strings.Repeat("func (d *DB) token(ctx context.Context, id int64) (string, error) { return "+
			"d.load(ctx, 42) }\n", 11),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Text(text, All())
			}
		})
	}
}
