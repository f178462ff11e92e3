from trueness._assess.calibration_test import calibration_test as calibration_test
from trueness._assess.decide import decide as decide
from trueness._assess.estimate import estimate as estimate
from trueness._assess.interval import ece_interval as ece_interval
from trueness._assess.noise_floor import noise_floor as noise_floor
from trueness._assess.panel import panel as panel
from trueness._assess.segments import segments as segments
from trueness._assess.slices import worst_slices as worst_slices
from trueness._assess.verdict import verdict as verdict
from trueness.infer.band._curve_bands import curve_band as curve_band
from trueness.infer.band._monotone_band import monotone_band as monotone_band
from trueness.infer.band._reliability_bands import reliability_bands as reliability_bands
from trueness.infer.comparison._compare import compare as compare
from trueness.infer.decision._accept import accept_threshold as accept_threshold
from trueness.infer.decision._decide import decision_certificate as decision_certificate
from trueness.infer.decision._gate import gate as gate
from trueness.infer.decision._net_benefit import net_benefit as net_benefit
from trueness.infer.decision._risk_coverage import risk_coverage as risk_coverage
from trueness.infer.group._grades import grade_table as grade_table
from trueness.infer.group._prior_shift import prior_shift as prior_shift
from trueness.infer.group._series import calibration_series as calibration_series
from trueness.infer.limits._powered import powered as powered
from trueness.infer.plan._validation_size import validation_size as validation_size
from trueness.infer.test._cumulative import cumulative_walk as cumulative_walk
from trueness.infer.test._equivalence import equivalence_test as equivalence_test
from trueness.infer.watch._watch import Watch as Watch

__all__: list[str]
