package feishu

import "time"

// mostCards is how many cards a card cache keeps. A card that is taken off can be found again by its name; it is taken
// off when nobody has touched it for longest.
const mostCards = 1000

// card cache keeps cards by name. A turn that never ends would leave its card there for ever.
type cardCache map[string]*cachedCard

type cachedCard struct {
	card *card
	used time.Time
}

func (s *cardCache) put(name string, k *card) {
	if *s == nil {
		*s = make(cardCache)
	}
	if len(*s) >= mostCards && (*s)[name] == nil {
		s.dropOldest()
	}
	(*s)[name] = &cachedCard{k, time.Now()}
}

func (s *cardCache) get(name string) *card {
	e := (*s)[name]
	if e == nil {
		return nil
	}
	e.used = time.Now()
	return e.card
}

func (s *cardCache) drop(name string) { delete(*s, name) }

func (s *cardCache) dropOldest() {
	var oldest string
	for name, e := range *s {
		if oldest == "" || e.used.Before((*s)[oldest].used) {
			oldest = name
		}
	}
	s.drop(oldest)
}
