package contextmgr

import "unicode"

// fold maps a character to the one of the prefix's own lines that it looks like, if any.
func fold(c rune) rune {
	switch {
	case c < 0x80:
		return c
	case c >= '！' && c <= '～':
		return c - '！' + '!'
	case unicode.Is(unicode.Pd, c):
		return '-'
	}
	if f, ok := lookalike[c]; ok {
		return f
	}
	return c
}

// lookalike has what Unicode calls compatible, the other Chinese forms, and what merely looks the same in a chat.
var lookalike = lookalikes(map[rune]string{
	'#': "﹟♯⌗⋕",
	'-': "−˗⁃─━╌╍⎯⏤ーㅡ一ｰ",
	':': "︓﹕∶꞉ː˸։׃",
	'[': "﹇﹝〔【〖〘〚⁅⟦❲",
	']': "﹈﹞〕】〗〙〛⁆⟧❳",
	'(': "︵﹙⁽₍❨⦅｟",
	')': "︶﹚⁾₎❩⦆｠",
	'对': "對対",
	'话': "話",
	'历': "歷歴曆厯\uF98B\uF98C",
	'上': "㆖㊤",
	'下': "㆘㊦",
	'文': "⽂㉆",
	'当': "當\U0002F874",
	'前': "🈜",
	'问': "問",
	'题': "題",
	'用': "⽤",
	'户': "戶戸⼾",
	'手': "⼿🈐",
	'记': "記",
	'忆': "憶",
	'听': "聽聴",
})

func lookalikes(table map[rune]string) map[rune]rune {
	flat := map[rune]rune{}
	for as, forms := range table {
		for _, f := range forms {
			flat[f] = as
		}
	}
	return flat
}
