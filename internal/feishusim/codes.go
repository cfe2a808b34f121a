package feishusim

import "net/http"

// Codes of the platform (docs: api-call-guide/generic-error-code and the error tables of im-v1 and cardkit-v1).
const (
	codeInternal        = 2200
	codeNotJSON         = 9499
	codeTokenMissing    = 99991661
	codeTokenInvalid    = 99991663
	codeTokenUser       = 99991668
	codeScope           = 99991672
	codeTooFrequent     = 99991400
	codeField           = 99992402
	codeUnknownOpenID   = 99992351
	codeUnknownChat     = 99992356
	codeParam           = 230001
	codeBotNotInChat    = 230002
	codeRecalled        = 230011
	codeNotOwnResource  = 230017
	codeChatFrequency   = 230020
	codeTooLong         = 230025
	codeNoRecall        = 230026
	codeMissingScope    = 230027
	codeTooOld          = 230031
	codeType            = 230054
	codeNotSender       = 230071
	codeEdits           = 230072
	codeCardRefused     = 230099
	codeGone            = 231003
	codeEmoji           = 231001
	codeNotReactor      = 231002
	codeDissolved       = 232009
	codeNotMember       = 232011
	codeFileParam       = 234001
	codeFileNotIn       = 234003
	codeFileTooBig      = 234006
	codeFileEmpty       = 234010
	codeDownloadTooBig  = 234037
	codeFileForwarded   = 234043
	codeUserOutOfRange  = 41050
	codeAppParam        = 10003
	codeAppSecret       = 10014
	codeKitParam        = 10002
	codeKitNone         = 200740
	codeKitExpired      = 200750
	codeKitUUID         = 200770
	codeKitInteracting  = 200810
	codeKitTimedOut     = 200850
	codeKitSize         = 200860
	codeKitDuplicate    = 300301
	codeKitNotShared    = 300302
	codeKitSchema       = 300303
	codeKitElements     = 300305
	codeKitEmpty        = 300307
	codeKitClosed       = 300309
	codeKitNotText      = 300310
	codeKitTag          = 300312
	codeKitUpdate       = 300313
	codeKitDelete       = 300314
	codeKitAdd          = 300315
	codeKitSequence     = 300317
	codeKitConfig       = 300122
	codeCardJSON        = 200621
	codeCardImage       = 200570
	codeCardTag         = 200861
	codeCardForm        = 200530
	codeCardExceeds     = 11310
	codeToastUnwired    = 200340
	codeToastTimeout    = 200341
	codeToastStatus     = 200671
	codeToastBody       = 200672
	codeToastCard       = 200673
	codeToastNil        = 108002
	codeCallbackToken   = 300000 // the real one is not documented
	codeEndpointBusy    = 1
	codeEndpointNone    = 1000040344
	codeEndpointSecret  = 1000040345
	codeTooManyConns    = 1000040350
	handshakeAuthFailed = 514
)

const headerRateReset = "x-ogw-ratelimit-reset" // seconds until the next request is allowed

// statusOf returns the HTTP status that comes with a code: 200 from the token and connection endpoints
// even on errors, otherwise 400, or 429 for the frequency limit, or 500 for an internal error.
func statusOf(code int) int {
	switch code {
	case 0, codeAppParam, codeAppSecret, codeEndpointNone, codeEndpointSecret, codeTooManyConns, codeEndpointBusy:
		return http.StatusOK
	case codeTooFrequent:
		return http.StatusTooManyRequests
	case codeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}
