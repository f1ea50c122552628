"""Words of the domain for what a question may ask about: data, not code.

Each :class:`Topic` ties general words to relations and attributes of the
vocabulary. A topic is meant where each of its cues occurs; the more and the
longer the list of cues that occur, the surer it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "date", "coordinates", "state", "text", "record"]


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that can be asked about.

    Attributes
    ----------
    name
        Name for messages.
    relations
        Relations that state it, the most direct first.
    keys
        Attributes that hold the answer, the most wanted first.
    kind
        What the answer is.
    cues
        Patterns that must all occur in the question.
    hints
        Patterns that make the topic likelier.
    never
        Pattern that rules the topic out; empty for none.
    scope
        Attribute values that a statement must not contradict.
    """

    name: str
    relations: tuple[str, ...]
    keys: tuple[str, ...]
    kind: Kind
    cues: tuple[str, ...]
    hints: tuple[str, ...] = ()
    never: str = ""
    scope: tuple[tuple[str, str], ...] = ()


STORM = r"\b(?:storms?|cyclones?|hurricanes?|system|depression|eye|cent(?:er|re)|it)\b"
PORT = r"\b(?:ports?|harbou?rs?|terminals?)\b"
WHERE = r"\bwhere\b|\blocat\w+|\bplace\b|\bposition\w*|\bwhich (?:coast|place|area|region|part)"
WHEN = (
    r"\bwhen\b|\bhow (?:soon|long|many (?:hours|days))|\bhours?\b|\bdate\b|\b(?:what|which) "
    r"(?:time|day|interval|period)|\btime\b|\bintervals?\b|\bby what\b"
)
CHANCE = r"\bprobab|\bchances?\b|\blikelihood\b|\bodds\b|\bpercent"
WIND = r"\bwinds?\b|\bgales?\b|\b(?:34|50|64)[\s-]*(?:kts?|knots?)|\bstorm[\s-]force"
LANDFALL = r"\blandfall\b|\bashore\b"
SPEED = r"\bspeeds?\b|\bhow fast\b|\bvelocity\b"
MOTION = r"\bmov\w+|\bmotion\b|\bforward\b|\bheading\b|\bheaded\b|\btravel\w*|\bdirection\b"
EXTENT = r"\bcoast\w*|\bsegments?\b|\bstretch\w*|\bwhere\b|\bareas?\b|\bfrom\b.*\bto\b"
VESSELS = r"\bvessels?\b|\bships?\b|\bbarges?\b"
FREIGHT = r"\bfreight\b|\bcargo\b|\bimpact\w*|\bdisrupt\w*|\btraffic\b|\bport calls\b"
PEAK = (
    r"\bat any (?:point|time)\b|\bpeak\w*|\bhighest\b|\bmaxim\w+|\bgreatest\b|\blargest\b"
    r"|\bmost (?:likely|probable)\b|\bmax\b"
)
EXCEED = r"\bexceed\w*|\babove\b|\bmore than\b|\bgreater than\b|\bover\b|\breach\w*"
DUTY = r"\bguidance\b|\bmust\b|\bshould\b|\brequired\b|\brestrict\w*|\bdo\b"
LISTED = r"\bdescribe\b|\bwhich\b|\blist\b|\bextent\b"
ISSUED = r"\bissued\b|\bin effect\b|\bunder\b|\btype\b"
SURGE = r"\bsurge\b|\binundation\b|\bwater levels?\b"
RAIN = r"\brain\w*|\bprecipitation\b"
WEATHER = (
    r"\bstorm conditions\b|\bhurricane conditions\b|\bstorm[\s-]force\b|\bwinds?\b|\brain\w*"
    r"|\bsurge\b"
)
STRIKE = (
    r"\baffect\w*|\bstrike\b|\bconditions\b|\bexperienc\w*|\bhit\b|\bimpact\w*|\binfluence"
)
SPAN = (
    r"\bwindow\b|\bduration\b|\bperiod covered\b|\bcovers?\b|\bhow many days\b|\bspan\b"
    r"|\blength\b"
)
FIRST = r"\bfirst\b|\bearliest\b|\bnon-?\s?zero\b|\babove zero\b|\bbegins?\b|\bstarts?\b"

TOPICS: tuple[Topic, ...] = (
    # 1 cyclone state
    Topic("position", ("has_position", "has_reference_distance"),
          ("position", "latitude", "longitude", "reference"), "coordinates",
          (r"\bcoordinat\w+|\blatitude|\blongitude|" + WHERE, STORM),
          (r"\beye\b|\bcent(?:er|re)\b", r"\bcurrent\w*|\bnow\b|\bpresent\w*", r"\bcoordinat"),
          LANDFALL + r"|\bclosest\b|\bnearest\b|\bwatch|\bwarning|\bsurge|\brain|\bcone\b|\bcoast"),
    Topic("port location", ("has_location",), ("position", "latitude", "longitude"), "coordinates",
          (r"\bcoordinat\w+|\blatitude|\blongitude|\bwhere (?:is|are|does)\b", PORT), (),
          r"\beye\b|\bcent(?:er|re)\b|\bstorm|\bcyclone|\bhurricane|\bcoast"),
    Topic("reference distance", ("has_reference_distance",), ("distance_mi", "bearing"), "number",
          (r"\bhow far\b|\bdistance\b|\bhow many (?:miles|km|kilomet)",), (STORM,)),
    Topic("direction", ("has_motion",), ("direction", "bearing_deg"), "state",
          (r"\bdirection\b|\bheading\b|\bheaded\b|\bbearing\b|\bmoving\b|\bwhich way\b",),
          (MOTION, r"\bcompass\b"), r"\bhow fast\b|\bspeed\b|" + LANDFALL),
    Topic("forward speed", ("has_motion",), ("speed_mph",), "number",
          (SPEED + r"|\bmph\b", MOTION), (SPEED,),
          r"\bsustained\b|\bwinds?\b|\bsurge\b|\brain"),
    Topic("intensity", ("has_intensity", "forecasts_wind"), ("wind_mph", "high"), "number",
          (WIND, r"\bsustained\b|\bmax\w*|\bintensity\b|\bspeed\b|\bhow strong\b|\bpeak\b"),
          (r"\bsustained\b", r"\bmax"), CHANCE + r"|\bgust"),
    Topic("pressure", ("has_pressure",), ("pressure_mb",), "number", (r"\bpressure\b",),
          (r"\bcentral\b|\bminimum\b", r"\bmb\b|\bhpa\b")),
    Topic("category", ("has_category_state", "has_cyclone_state"), ("category", "status"), "state",
          (r"\bcategor\w+|\bsaffir|\bSSHS\b|\bhow strong\b|\bclass(?:ed|ified|ification)\b"
           r"|\bmajor hurricane\b",), (r"\bsaffir|\bscale\b",)),
    Topic("status", ("has_cyclone_state", "has_category_state"), ("status", "category"), "state",
          (r"\bstatus\b|\bkind of\b|\btype of (?:storm|system|cyclone)"
           r"|\b(?:is|was|be|become|remain\w*)\b.*"
           r"\b(?:a|an) (?:\w+ )?(?:hurricane|tropical|subtropical|post|potential|remnant)",), (),
          r"\bwatch|\bwarning|\bcondition\b|\bprobab|\bwinds?\b"),
    Topic("wind radii", ("has_wind_radii",), ("radius_mi",), "number",
          (r"\bradi(?:us|i)\b|\bextend\w*\b|\bwind field\b|\bhow wide\b", WIND), ()),
    # 2 track and landfall
    Topic("track", ("forecasts_track", "has_motion"), ("track", "direction"), "text",
          (r"\btrack\b|\btrajectory\b|\bpath\b|\broute\b|\bcourse\b"
           r"|\b(?:will|expected to|forecast to)\b.*\b(?:move|go|head|turn)\b",), (),
          r"\bcone\b|\boffshore\b|" + LANDFALL + r"|\bduration\b|\bwindow\b"),
    Topic("cone", ("within_forecast_cone",), ("within_cone",), "state", (r"\bcone\b",),
          (r"\binside\b|\bwithin\b|\bin\b|\boutside\b", PORT)),
    Topic("landfall place", ("forecasts_landfall", "has_impacted_coast"),
          ("landfall_location", "coast"), "text", (LANDFALL,),
          (WHERE, r"\bexpected\b|\bforecast\b|\bprojected\b|\bmake\b"), r"\bhow many\b"),
    Topic("landfall date", ("forecasts_landfall",), ("date",), "date",
          (LANDFALL, r"\bdate\b|\b(?:what|which) day\b|\bwhen\b"), (r"\bdate\b|\bday\b",)),
    Topic("hours to landfall", ("has_hours_to_landfall", "forecasts_landfall"),
          ("hours", "landfall_location"), "number",
          (LANDFALL, r"\bhours?\b|\bhow (?:soon|long|many)\b|\buntil\b|\btime to\b|\binterval\b"),
          (r"\bhours?\b", r"\bhow (?:many|long)\b")),
    # 3 timing
    Topic("forecast window", ("has_forecast_window",), ("days",), "number",
          (r"\bforecast\w*\b|\boutlook\b|\bprediction\b", SPAN),
          (r"\btrajectory\b|\btrack\b|\btotal\b", r"\bdays?\b"),
          r"\baffected\b|\bimpact\w*|\bstrike\b|" + CHANCE),
    Topic("closest approach", ("has_closest_approach",), ("date", "hours"), "date",
          (r"\bclose(?:st)?\b|\bnearest\b", r"\bapproach\w*|\bpass\w*|" + WHEN),
          (r"\bapproach", r"\bpass"), r"\bstation\b|\btable\b|\bforecast (?:location|point)\b|%"),
    Topic("departure", ("has_departure_time",), ("hours", "date"), "number",
          (r"\boffshore\b|\bleav\w+|\bdepart\w*|\bexit\w*|\bclears?\b|\bout of the area\b",),
          (WHEN, r"\boffshore\b"), VESSELS),
    Topic("strike duration", ("has_strike_duration",), ("hours",), "number",
          (r"\bhow long\b|\bduration\b|\bhow many hours\b|\blast\b", STRIKE),
          (PORT, r"\btotal\b"),
          LANDFALL + r"|\bfreight\b|\bdays\b|\bprobab|\boffshore\b|\bbegin\b"),
    Topic("first hazard", ("has_hazard_arrival",), ("hazard", "text"), "text",
          (r"\bfirst\b|\bearliest\b",
           r"\bhazards?\b|\bthreats?\b|\bevents?\b|\beffects?\b|\bwhat (?:will|might|may|is)\b"),
          (r"\barriv\w+|\bhappen\w*|\breach\w*|\bstart\w*",), CHANCE),
    # The period with the largest onset probability is when that wind most likely arrives.
    Topic("hazard arrival", ("has_hazard_arrival", "has_peak_probability",
                             "has_first_nonzero_probability"), ("hours", "date"), "number",
          (WHEN, r"\barriv\w*|\bbegin\w*|\bstart\w*|\breach\w*|\bonset\b", WEATHER),
          (r"\bconditions\b",), CHANCE + r"|" + FREIGHT),
    Topic("next advisory", ("has_next_advisory",), ("date", "hours", "text"), "date",
          (r"\bnext\b", r"\badvisory\b|\bupdate\b|\bbulletin\b"), ()),
    # 4 advisory
    Topic("watch", ("has_watch_status", "has_advisory_change"), ("advisory", "segment"), "state",
          (r"\bwatch(?:es)?\b",), (ISSUED,)),
    Topic("warning", ("has_warning_status", "has_advisory_change"), ("advisory", "segment"),
          "state", (r"\bwarnings?\b",), (ISSUED,)),
    Topic("watch extent", ("has_watch_status",), ("segment", "advisory"), "text",
          (r"\bwatch(?:es)?\b", EXTENT), (LISTED, r"\bareas?\b"),
          r"\bwhat (?:type|kind)\b|" + PORT),
    Topic("warning extent", ("has_warning_status",), ("segment", "advisory"), "text",
          (r"\bwarnings?\b", EXTENT), (LISTED, r"\bareas?\b"),
          r"\bwhat (?:type|kind)\b|" + PORT),
    Topic("advisory change", ("has_advisory_change",), ("action", "advisory", "segment"), "text",
          (r"\bwatch|\bwarning|\badvisor",
           r"\bchang\w+|\bdiscontinu\w+|\bextend\w+|\bupgrad\w+|\bcancel"),
          ()),
    Topic("affected coast", ("has_impacted_coast", "forecasts_landfall"),
          ("coast", "landfall_location"), "text",
          (r"\bcoast\w*|\bregions?\b|\bshore\w*|\bareas?\b",
           r"\baffect\w*|\bimpact\w*|\bthreaten\w*|\bat risk\b|\bhit\b"), (r"\bmost\b|\blikely\b",),
          r"\bwatch|\bwarning|\bfreight\b|\bsurge\b|\brain"),
    # 5 probability
    Topic("forecast location", ("has_forecast_location", "has_location"), ("location",), "text",
          (r"\bclosest\b|\bnearest\b", r"\blocation\b|\bstation\b|\bpoint\b|\btable\b|\bsite\b"),
          (r"\btable\b|\bforecast\b|\bwind\b|\bweather\b",)),
    Topic("probability", ("has_cumulative_probability", "has_peak_probability",
                          "has_leadtime_probability"), ("probability",), "number",
          (CHANCE,), (WIND, r"\bcumulative\b|\boverall\b|\bday", r"\bcumulative\b"),
          r"\brain|\bsurge\b|\bformation\b|\btornad"),
    Topic("period probability", ("has_leadtime_probability",), ("probability", "onset"), "number",
          (CHANCE + r"|\bgale\b",
           r"\b(?:in|within|at|by|of|next|through)\b[^.?]*\b\d+[\s-]*(?:hours?|h)\b"
           r"|\bhours?\b[^.?]*\b\d+"), (WIND, r"\bonset\b|\bfuture\b|\beach\b"), FIRST),
    Topic("peak probability", ("has_peak_probability", "has_cumulative_probability"),
          ("probability",), "number", (CHANCE, PEAK), (WIND, r"\bpeak"),
          r"\bwhen\b|\bhow many hours\b"),
    Topic("peak time", ("has_peak_probability",), ("hours",), "number",
          (CHANCE, PEAK, WHEN), (WIND, r"\buntil\b|\bremain\b")),
    Topic("first probability", ("has_first_nonzero_probability", "has_leadtime_probability"),
          ("hours",), "number",
          (CHANCE, FIRST, WHEN), (WIND, r"\bzero\b")),
    # 6 hazard forecast, 8 threshold, 9 additional
    Topic("storm surge", ("forecasts_storm_surge", "has_threshold_status"),
          ("high", "text", "exceeded"), "number", (SURGE,),
          (r"\bhow (?:high|deep|much)\b|\bfeet\b|\bheight\b",),
          r"\bfirst\b|\badditional\b|\bexcluding\b", (("hazard", "storm surge"),)),
    Topic("rainfall", ("forecasts_rainfall", "has_threshold_status"), ("high", "text", "exceeded"),
          "number", (RAIN,), (r"\bhow much\b|\binch|\bamounts?\b|\btotals?\b",),
          r"\bfirst\b|\badditional\b|\bexcluding\b|\bother\b", (("hazard", "rainfall"),)),
    Topic("wind forecast", ("forecasts_wind", "has_hazard_arrival"), ("text", "high"), "text",
          (WIND, r"\bexpect\w*|\bforecast\b|\boutlook\b|\bconditions\b|\bgusts?\b"), (PORT,),
          CHANCE + r"|\bsustained\b|\bfirst\b|\badditional\b|\bexcluding\b|\blocation\b"),
    Topic("surge threshold", ("has_threshold_status", "forecasts_storm_surge"),
          ("exceeded", "high"), "state",
          (SURGE, EXCEED),
          (r"\bfeet\b|\bft\b|\bfoot\b",), "", (("hazard", "storm surge"),)),
    Topic("rain threshold", ("has_threshold_status", "forecasts_rainfall"),
          ("exceeded", "high"), "state",
          (RAIN, EXCEED),
          (r"\binch|\bin\b\.",), "", (("hazard", "rainfall"),)),
    Topic("additional hazards", ("has_additional_hazard",), ("text", "hazard"), "text",
          (r"\b(?:other|additional|further)\b.*\b(?:hazards?|threats?|dangers?)\b"
           r"|\btornad\w+|\brip currents?\b|\bsurf\b|\bmudslid\w+|\bflood\w*|\bhazards?\b",),
          (r"\bhazards?\b", r"\badditional\b|\bother\b|\bexclud"), r"\bfirst\b"),
    # 10 operations
    Topic("port condition", ("has_operation_status",), ("condition",), "state",
          (r"\b(?:port|harbou?r|readiness)\b.*\bcondition\b|\bcondition\b.*\bport\b"
           r"|\b(?:whiskey|x-?ray|yankee|zulu)\b|\b(?:port|harbou?r)\b.*\b(?:open|closed|status)\b"
           r"|\bCOTP\b",), (r"\bcondition\b", r"\bset\b|\bassign\w*|\boperational\b"), r"\bwhen\b"),
    Topic("condition time", ("has_operation_status",), ("effective",), "date",
          (r"\bcondition\b|\b(?:whiskey|x-?ray|yankee|zulu)\b",
           r"\bwhen\b|\bwhat time\b|\beffective\b"), ()),
    Topic("vessel guidance", ("affects_vessel_handling", "has_operation_status"),
          ("guidance", "condition"), "text",
          (VESSELS, DUTY + r"|\bdepart\b|\borders?\b|\bhandl"),
          (r"\bguidance\b",), r"\bhow many\b|\bnumber of\b"),
    Topic("facility guidance", ("affects_facility_operation", "has_operation_status"),
          ("guidance", "condition"), "text",
          (r"\bfacilit\w+|\bterminals?\b|\boperations?\b", DUTY + r"|\bsecur\w*"),
          (r"\bguidance\b", r"\bfacilit"), VESSELS),
    # 11 impact, 12 recovery
    Topic("impact start", ("has_impact_prediction",), ("date",), "date",
          (FREIGHT, WHEN, r"\bstart\w*|\bbegin\w*|\bfirst\b"), (r"\bfreight\b",), "",
          (("purpose", "start"),)),
    Topic("impact peak date", ("has_impact_prediction",), ("date",), "date",
          (FREIGHT, WHEN, PEAK), (r"\bfreight\b",), WIND, (("purpose", "peak"),)),
    Topic("impact end", ("has_impact_prediction",), ("date",), "date",
          (FREIGHT, WHEN, r"\bend\b|\bended\b|\bover\b|\bfinish\w*"), (r"\bfreight\b",), "",
          (("purpose", "end"),)),
    Topic("impact duration", ("has_impact_prediction",), ("days",), "number",
          (FREIGHT, r"\bhow many days\b|\bhow long\b|\bduration\b|\blast\b"),
          (r"\bfreight\b", r"\bdays\b"), r"\brecover\w*", (("purpose", "duration"),)),
    Topic("impact magnitude", ("has_impact_prediction",), ("amount",), "number",
          (FREIGHT, r"\bmagnitude\b|\bhow (?:big|large|severe)\b|\bseverity\b|\breduction\b"),
          (PEAK,), VESSELS, (("purpose", "magnitude"),)),
    Topic("impacted vessels", ("has_impact_prediction",), ("amount",), "number",
          (VESSELS, r"\bhow many\b|\bnumber of\b|\bcount\b"), (FREIGHT,), "",
          (("purpose", "vessels"),)),
    Topic("recovery", ("has_recovery_status", "starts_recovery"), ("days", "date"), "number",
          (r"\brecover\w*|\breopen\w*|\bback to normal\b|\bresum\w+",), (FREIGHT,)),
)
"""Everything that can be asked about, by family."""

OVERVIEW = Topic(
    "overview",
    ("has_category_state", "has_warning_status", "has_watch_status", "has_operation_status",
     "has_hours_to_landfall", "has_cumulative_probability", "forecasts_storm_surge",
     "forecasts_rainfall", "has_position"),
    ("category", "advisory", "condition", "hours", "probability", "high", "position"), "text",
    (r"\bsituation\b|\boverview\b|\bsummar\w*|\boutlook\b|\bgoing on\b|\bhappen\w*"
     r"|\bthreat\w*|\bexpect\w*|\bstatus\b",),
)
"""Asked about where no other topic is."""

HAZARDS: tuple[tuple[str, str], ...] = (
    ("storm surge", r"\bsurge\b|\binundation\b"), ("rainfall", r"\brain\w*|\bprecipitation\b"),
    ("tornado", r"\btornad\w+|\bwaterspouts?\b"), ("rip current", r"\brip[\s-]*currents?\b"),
    ("surf", r"\bsurf\b"), ("high seas", r"\b(?:high|rough) seas\b|\bwaves\b|\bswells?\b"),
    ("flooding", r"\bflood\w*"), ("mudslide", r"\bmudslid\w+|\blandslid\w+"),
    ("erosion", r"\berosion\b"), ("lightning", r"\blightning\b|\bthunderstorms?\b"),
)
"""Hazard as the attribute ``hazard`` spells it -> the words for it."""

CONDITIONS: tuple[str, ...] = ("NORMAL", "WHISKEY", "X-RAY", "YANKEE", "ZULU")
"""Port conditions from the mildest to the closed port."""

RELATIVE_HOURS = frozenset({
    "has_hours_to_landfall", "has_hazard_arrival", "has_departure_time", "has_closest_approach",
    "has_peak_probability", "has_first_nonzero_probability",
})
"""Relations whose ``hours`` count from the time of the statement and run down."""

KEY_UNITS: dict[str, str] = {
    "speed_mph": "mph", "speed_kmh": "km/h", "wind_mph": "mph", "wind_kt": "kt",
    "pressure_mb": "mb", "radius_mi": "mi", "distance_mi": "mi", "hours": "h", "days": "d",
    "probability": "%", "onset": "%", "bearing_deg": "deg", "latitude": "deg", "longitude": "deg",
}
"""Unit of an attribute whose value does not bring its own."""
