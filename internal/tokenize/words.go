package tokenize

import "strings"

// function are English words with a grammatical function but without a subject. They are in nearly every message, so
// they would make the index larger and rank nothing.
var function = wordSet(`
a an the this that these those i me my mine myself you your yours yourself he him his himself she
her hers herself it its itself we us our ours ourselves they them their theirs themselves who whom whose which what
when where why how am is are was were be been being do does did doing done have has had having will would shall should
can could may might must ought and or but nor so if then than because as until while of at by for with about against
between into through during before after above below to from up down in out on off over under again once here there
all any both each few more most other some such no not only own same too very just also ever yet s t d ll m re ve don
hello hi hey thanks thank ok okay yes yeah yep nope bye oh hmm lol haha
didn doesn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn let please tell`)

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

func forms(table map[string]string) map[string]string {
	m := map[string]string{}
	for base, words := range table {
		for w := range strings.FieldsSeq(words) {
			m[w] = base
		}
	}
	return m
}

// isParticle reports whether r is a Chinese character with a mostly grammatical function. Such a character is not a
// term of its own, but may be part of a pair.
func isParticle(r rune) bool {
	return r >= firstHan && int(r-firstHan) < len(particles) && particles[r-firstHan]
}

const firstHan = 0x4E00

// A table instead of a map: it is used for every character of every indexed message.
var particles = func() (table [0xA000 - firstHan]bool) {
	for _, r := range "的了吗呢吧啊呀哦嗯哈么是在有我你他她它们这那哪个也都就还又很太和与或跟及把被给让对从到着过会能可要想说去来上下里不没什怎谁为以而但所其之于则将嘛啦噢诶喔好请帮谢您嗨" {
		table[r-firstHan] = true
	}
	return table
}()
