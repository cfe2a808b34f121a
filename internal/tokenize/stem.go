package tokenize

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// stems caches recently stemmed words, because people use few words again and again. An entry is immutable and replaced
// as a whole, so an atomic pointer needs no lock; words with the same hash only evict each other.
var stems [1 << 12]atomic.Pointer[stemmed]

type stemmed struct{ word, stem string }

// seed is random: the order of the cache has no meaning, and nobody can construct collisions.
var seed = maphash.MakeSeed()

// stemOf is the stem of an English word in lower case; words of other languages come back unchanged.
func stemOf(word string) string {
	place := &stems[maphash.String(seed, word)%uint64(len(stems))]
	if known := place.Load(); known != nil && known.word == word {
		return known.stem
	}
	s := stemmed{strings.Clone(word), stem(word)} // a clone, otherwise the cache would keep the whole text alive
	place.Store(&s)
	return s.stem
}

func stem(word string) string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	if base, ok := irregular[word]; ok {
		word = base
	}
	// Snowball's English stemmer does not change words of two letters, so it is not started for them.
	if len(word) < 3 {
		return word
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}

// irregular has the forms that no stemming rule maps to their base: form → base. A few synonyms (mom, bike, tv) are
// here, too.
var irregular = forms(map[string]string{
	"be": "been being", "become": "became", "begin": "began begun", "bite": "bit bitten", "blow": "blew blown",
	"break": "broke broken", "bring": "brought", "build": "built", "burn": "burnt", "buy": "bought", "catch": "caught",
	"choose": "chose chosen", "come": "came", "deal": "dealt", "dig": "dug", "draw": "drew drawn", "dream": "dreamt",
	"drink": "drank drunk", "drive": "drove driven", "eat": "ate eaten", "fall": "fell fallen", "feed": "fed",
	"feel": "felt", "fight": "fought", "find": "found", "fly": "flew flown", "forget": "forgot forgotten",
	"forgive": "forgave forgiven", "freeze": "froze frozen", "get": "got gotten", "give": "gave given",
	"go": "went gone", "grow": "grew grown", "hang": "hung", "hear": "heard", "hide": "hid hidden", "hold": "held",
	"keep": "kept", "know": "knew known", "lay": "laid", "lead": "led", "learn": "learnt", "leave": "left",
	"lend": "lent", "lie": "lain", "light": "lit", "lose": "lost", "make": "made", "mean": "meant", "meet": "met",
	"pay": "paid", "ride": "rode ridden", "ring": "rang rung", "rise": "rose risen", "run": "ran", "say": "said",
	"see": "saw seen", "seek": "sought", "sell": "sold", "send": "sent", "sew": "sewn", "shake": "shook shaken",
	"shine": "shone", "shoot": "shot", "show": "shown", "shrink": "shrank shrunk", "sing": "sang sung",
	"sink": "sank sunk", "sit": "sat", "sleep": "slept", "speak": "spoke spoken", "spend": "spent", "spill": "spilt",
	"stand": "stood", "steal": "stole stolen", "stick": "stuck", "strike": "struck", "swear": "swore sworn",
	"sweep": "swept", "swim": "swam swum", "take": "took taken", "teach": "taught", "tear": "tore torn",
	"tell": "told", "think": "thought", "throw": "threw thrown", "understand": "understood", "wake": "woke woken",
	"wear": "wore worn", "weep": "wept", "win": "won", "write": "wrote written",
	"child": "children", "man": "men", "woman": "women", "person": "people", "foot": "feet", "tooth": "teeth",
	"mouse": "mice", "goose": "geese", "life": "lives", "wife": "wives", "knife": "knives", "leaf": "leaves",
	"half": "halves", "shelf": "shelves", "loaf": "loaves", "good": "better best", "bad": "worse worst",
	"mom": "mum mother mommy", "dad": "father daddy", "photo": "photograph pic", "bike": "bicycle", "tv": "television",
})
