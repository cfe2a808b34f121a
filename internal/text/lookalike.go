package text

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold maps a character to the lower-case character of prompts' own markup that looks like it, if there is one.
func Fold(c rune) rune {
	switch {
	case c >= 'A' && c <= 'Z':
		return c - 'A' + 'a'
	case c < 0x80:
		return c
	case c >= '！' && c <= '～':
		return Fold(c - '！' + '!')
	}
	if f, ok := lookalike[c]; ok {
		return f
	}
	if c >= 0x4E00 && c <= 0x9FFF {
		return c
	}
	if unicode.Is(unicode.Pd, c) {
		return '-'
	}
	// a letter in another style or with an accent
	if d := norm.NFKD.PropertiesString(string(c)).Decomposition(); len(d) > 0 {
		for _, first := range string(d) {
			return Fold(first)
		}
	}
	return c
}

// lookalike holds the other Chinese forms, and characters that merely look the same. Compatibility characters of
// Unicode are handled by Fold.
var lookalike = lookalikes(map[rune]string{
	'#': "﹟♯⌗⋕",
	'>': "›❯〉⟩˃ᐳ⪢》»≻",
	'-': "−˗⁃─━╌╍⎯⏤ーㅡ一ｰ",
	'=': "═꞊᐀⹀゠⚌",
	':': "︓﹕∶꞉ː˸։׃",
	'[': "﹇﹝〔【〖〘〚⁅⟦❲",
	']': "﹈﹞〕】〗〙〛⁆⟧❳",
	'(': "︵﹙⁽₍❨⦅｟",
	')': "︶﹚⁾₎❩⦆｠",

	'对': "對対",
	'话': "話",
	'历': "歷歴曆厯",
	'当': "當",
	'问': "問",
	'题': "題",
	'户': "戶戸",
	'记': "記紀",
	'忆': "憶",
	'听': "聽聴",
	'现': "現",
	'录': "錄録",
	'说': "說説",
	'讯': "訊",
	'转': "轉転",
	'发': "發発",
	'并': "併並",
	'机': "機",
	'统': "統",

	'a': "аαɑΑА",
	'b': "ЬВΒ",
	'c': "сϲСϹ",
	'd': "ԁ",
	'e': "еєЕΕ",
	'f': "ғ",
	'g': "ɡց",
	'h': "һНΗ",
	'i': "іιıɩӏⅼІΙ",
	'j': "јϳЈ",
	'k': "кκКΚ",
	'm': "мМΜ",
	'n': "ոΝ",
	'o': "оοօОΟ",
	'p': "рρРΡ",
	'q': "ԛ",
	'r': "гʀ",
	's': "ѕꜱЅ",
	't': "тτТΤ",
	'u': "υսԱ",
	'v': "ѵν",
	'w': "ԝѡ",
	'x': "хχХΧ",
	'y': "уүγУΥҮ",
	'z': "ᴢΖ",
})

// lookalikes inverts the table: from each form to the character that it looks like.
func lookalikes(table map[rune]string) map[rune]rune {
	flat := map[rune]rune{}
	for as, forms := range table {
		for _, f := range forms {
			flat[f] = as
		}
	}
	return flat
}
