package doctor

import (
	"os/exec"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/operator/services"
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
		r.AddFinding(Warn, r.text(i18n.DoctorInstallManager), i18n.DoctorNoManager)
		return
	}
	r.AddFinding(OK, "", i18n.DoctorManagers, i18n.Listing(managers))
}
