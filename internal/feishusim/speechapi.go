package feishusim

import (
	"encoding/base64"
	"regexp"
	"sync"
)

// speech turns recordings into words (doc: ai/speech_to_text-v1/speech/file_recognize).
type speech struct {
	mu         sync.Mutex
	recognizer func(pcm []byte) string // nil = the tenant may not use it
}

// SetRecognizer enables speech recognition: hear returns the words of a recording, 16-bit mono at 16 kHz. Without it
// the tenant has no permission, as in the free edition.
func (s *speech) SetRecognizer(hear func(pcm []byte) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recognizer = hear
}

func (s *speech) routes() []route {
	return []route{api("POST /open-apis/speech_to_text/v1/speech/file_recognize", s.recognize)}
}

// maxSpeech is a minute of sound in bytes (doc: file_recognize allows 60 s).
const maxSpeech = 60 * 16000 * 2

var fileID = regexp.MustCompile(`^\w{16}$`)

func (s *speech) recognize(q *request) (any, *refusal) {
	var in struct {
		Speech struct {
			Speech string `json:"speech"`
		} `json:"speech"`
		Config struct {
			FileID     string `json:"file_id"`
			Format     string `json:"format"`
			EngineType string `json:"engine_type"`
		} `json:"config"`
	}
	if bad := q.decode(&in); bad != nil {
		return nil, bad
	}
	pcm, err := base64.StdEncoding.DecodeString(in.Speech.Speech)
	switch {
	case err != nil || len(pcm) == 0:
		return nil, refuse(RuleField, codeField, "field validation failed: speech")
	case len(pcm) > maxSpeech:
		return nil, refuse(RuleSize, codeField, "field validation failed: speech is longer than a minute")
	case in.Config.Format != "pcm" || in.Config.EngineType != "16k_auto" || !fileID.MatchString(in.Config.FileID):
		return nil, refuse(RuleField, codeField, "field validation failed: config")
	}
	s.mu.Lock()
	hear := s.recognizer
	s.mu.Unlock()
	// A missing permission is up to the tenant and not a mistake of the client, so no rule is named.
	if hear == nil {
		return nil, refuse("", codeScope,
			"Access denied. One of the following scopes is required: [speech_to_text:speech].")
	}
	return map[string]string{"recognition_text": hear(pcm)}, nil
}
