from trueness.infer.band._curve_band import curve_band as curve_band
from trueness.infer.comparison._compare import compare as compare
from trueness.infer.comparison._groups import group_difference as group_difference
from trueness.infer.decision._accept import accept_threshold as accept_threshold
from trueness.infer.decision._decide import decision_certificate as decision_certificate
from trueness.infer.decision._gate import gate as gate
from trueness.infer.decision._net_benefit import net_benefit as net_benefit
from trueness.infer.decision._risk_coverage import risk_coverage as risk_coverage
from trueness.infer.decision._route import route as route
from trueness.infer.group._centres import centres as centres
from trueness.infer.group._grades import grade_table as grade_table
from trueness.infer.group._heterogeneity import heterogeneity as heterogeneity
from trueness.infer.group._prior_shift import prior_shift as prior_shift
from trueness.infer.group._psi import psi as psi
from trueness.infer.group._series import calibration_series as calibration_series
from trueness.infer.limits._judge import judge as judge
from trueness.infer.limits._pluto_tasche import pluto_tasche as pluto_tasche
from trueness.infer.limits._powered import powered as powered
from trueness.infer.plan._next_labels import next_labels as next_labels
from trueness.infer.plan._validation_size import validation_size as validation_size
from trueness.infer.test._cumulative import cumulative_walk as cumulative_walk
from trueness.infer.test._equivalence import equivalence_test as equivalence_test
from trueness.infer.watch._models import ModelWatch as ModelWatch
from trueness.infer.watch._watch import Watch as Watch

__all__: list[str]
