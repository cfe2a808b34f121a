package doctor

import (
	"os/exec"

	"magpie/internal/config"
	"magpie/internal/configtype"
	"magpie/internal/services"
)

// checkManagers checks which service managers could restart the program after a crash.
func checkManagers(r *Report) {
	var managers []string
	if services.Available("") == nil {
		managers = append(managers, services.Manager+" (magpie service install)")
	}
	if _, err := exec.LookPath("pm2"); err == nil {
		managers = append(managers, config.LocatePages("pm2 (examples/ecosystem.config.js)"))
	}
	if len(managers) == 0 {
		r.AddFinding(Warn, r.text(textInstallManager), textNoManager)
		return
	}
	r.AddFinding(OK, "", textManagers, configtype.Listing(managers))
}
